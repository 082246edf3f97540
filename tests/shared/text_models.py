"""Small models that read texts, as Transformers reads and writes them: BERT with a vocabulary of words.

`entailing` has weights that are set by hand, so that what it says is known: see `entails`.
"""

from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np
import torch
from tokenizers import Tokenizer, models, pre_tokenizers, processors
from transformers import BertConfig, BertForSequenceClassification, BertModel, PreTrainedTokenizerFast

SPECIAL = ("[PAD]", "[UNK]", "[CLS]", "[SEP]")
MNLI = ("CONTRADICTION", "NEUTRAL", "ENTAILMENT")
# What a word of the second text adds, beside the word itself: the first entails the second only if it is worth more.
SECOND = -0.25


def tokenizer(words: Sequence[str]) -> PreTrainedTokenizerFast:
    """A token for each word, in lower case; pairs as BERT has them."""
    numbers = {token: number for number, token in enumerate([*SPECIAL, *words])}
    made = Tokenizer(models.WordLevel(numbers, unk_token="[UNK]"))
    made.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
    made.post_processor = processors.BertProcessing(("[SEP]", numbers["[SEP]"]), ("[CLS]", numbers["[CLS]"]))
    names = dict(zip(("pad_token", "unk_token", "cls_token", "sep_token"), SPECIAL, strict=True))
    inputs = ["input_ids", "token_type_ids", "attention_mask"]
    return PreTrainedTokenizerFast(tokenizer_object=made, model_max_length=64, model_input_names=inputs, **names)


def config(words: Sequence[str], labels: Sequence[str] = (), size: int = 16) -> BertConfig:
    """A BERT of one layer."""
    named = (
        {"id2label": dict(enumerate(labels)), "label2id": {one: at for at, one in enumerate(labels)}} if labels else {}
    )
    shape = {"hidden_size": size, "intermediate_size": size, "num_hidden_layers": 1, "num_attention_heads": 1}
    return BertConfig(vocab_size=len(SPECIAL) + len(words), max_position_embeddings=64, **shape, **named)


def random_classifier(folder: Path, words: Sequence[str], labels: Sequence[str] = MNLI, seed: int = 0) -> Path:
    """A classifier with random weights."""
    torch.manual_seed(seed)
    model = BertForSequenceClassification(config(words, labels))
    with torch.no_grad():  # as drawn, it says much the same of all texts
        for weights in model.parameters():
            weights.mul_(8)
    return saved(folder, model, words)


def random_encoder(folder: Path, words: Sequence[str], seed: int = 0) -> Path:
    """An encoder with random weights."""
    torch.manual_seed(seed)
    return saved(folder, BertModel(config(words)), words)


def saved(folder: Path, model: torch.nn.Module, words: Sequence[str]) -> Path:
    model.save_pretrained(folder)
    tokenizer(words).save_pretrained(folder)
    return folder


def entails(worth: Mapping[str, float], first: str, second: str) -> bool:
    """What the classifier of `entailing` says of two texts, worked out by hand.

    A token with the value x, its word's worth and SECOND more in the second text, counts x / sqrt(1 + x^2): what layer
    norm leaves of the first of the dimensions (x, -x, 1, -1). Attention is uniform, so that the sum decides.
    """
    # The last one of the second text is [SEP].
    values = [*(worth[word] for word in first.split()), *(worth[word] + SECOND for word in second.split()), SECOND]
    return sum(x / np.sqrt(1 + x**2) for x in values) > 0


def entailing(folder: Path, worth: Mapping[str, float], labels: Sequence[str] = MNLI) -> Path:
    """A classifier whose likeliest label is "entailment" just where `entails` says so, else "neutral"."""
    model = BertForSequenceClassification(config(list(worth), labels, size=4))
    number = {label.lower(): at for at, label in enumerate(labels)}
    with torch.no_grad():
        for name, weights in model.named_parameters():
            weights.copy_(torch.ones_like(weights) if "LayerNorm.weight" in name else torch.zeros_like(weights))
        words = model.bert.embeddings.word_embeddings.weight
        for at, x in enumerate([0.0] * len(SPECIAL) + list(worth.values())):
            words[at] = torch.tensor([x, -x, 1.0, -1.0])
        model.bert.embeddings.token_type_embeddings.weight[1] = torch.tensor([SECOND, -SECOND, 0.0, 0.0])
        attention = model.bert.encoder.layer[0].attention  # without queries and keys it is the same for all tokens
        for dense in (attention.self.value, attention.output.dense, model.bert.pooler.dense):
            dense.weight.copy_(torch.eye(4))
        model.classifier.weight[number["entailment"], 0] = 100.0
        model.classifier.bias[number["contradiction"]] = -1.0
    return saved(folder, model, list(worth))
