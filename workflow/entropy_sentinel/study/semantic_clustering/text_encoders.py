"""Text models on Transformers, and the location of their weights. No other module here imports Transformers and torch.

Weights are in a local folder, or in the hub's cache at the commit that the study uses.
"""

import logging
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
import torch
from transformers import AutoModel, AutoModelForSequenceClassification, AutoTokenizer
from transformers.utils.logging import disable_progress_bar

from entropy_sentinel.core.errors import InputError
from entropy_sentinel.study.semantic_clustering.backend_settings import WeightsSettings

# Copies of the same weights for packages other than PyTorch.
_COPIES = ("*.h5", "*.msgpack", "*.ot", "*.onnx", "onnx/*", "openvino/*", "coreml/*")


class Weights(NamedTuple):
    """Weights in a folder, with their name and version: a commit of the hub, or a hash of the content."""

    folder: str
    name: str
    revision: str

    @property
    def provenance(self) -> dict[str, Any]:
        """Name and version for the provenance."""
        return {"weights": self.name, "weights_revision": self.revision}


def locate_weights(settings: WeightsSettings) -> Weights:
    """The weights that the settings name, downloading them if needed; the study keeps to the commit that it first used.

    Raises InputError if the hub does not have them.
    """
    if settings["path"] is not None:
        assert settings["revision"] is not None  # for a folder it is its hash
        return Weights(settings["path"], settings["path"], settings["revision"])
    model = settings["model"]
    assert model is not None  # a section has either `path` or `model`
    from entropy_sentinel.hub import hub_files as hub  # reads HF_HOME when it is imported

    commit = hub.pin_commit("model", model, settings["revision"], settings["revisions"])
    return Weights(hub.download_snapshot("model", model, commit, _COPIES), model, commit)


log = logging.getLogger(__name__)


class _TextModel:
    """A loaded model with its tokenizer, on the GPU if there is one."""

    def __init__(self, folder: str, kind: Any, name: str) -> None:
        """Load the weights in a folder; errors call it `name`. Raises InputError if a part is missing."""
        disable_progress_bar()
        try:
            self._tokenizer = AutoTokenizer.from_pretrained(folder, local_files_only=True)
            # Some are stored in half precision: few CPUs compute in it, and it changes decisions near a threshold.
            self._model, loading = kind.from_pretrained(
                folder, dtype=torch.float32, local_files_only=True, output_loading_info=True
            )
        except (OSError, ValueError, ImportError) as error:
            raise InputError(f"{name}: must be weights for Transformers, with a tokenizer: {error}") from error
        # Transformers would initialise them at random. The pooler's are not used here.
        if missing := sorted(key for key in loading["missing_keys"] if not key.startswith("pooler.")):
            raise InputError(f"{name}: has no weights for {', '.join(missing)}; it may be a model of another kind")
        self._device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
        self._model.to(self._device).eval()
        length_limits = [
            self._tokenizer.model_max_length,
            getattr(self._model.config, "max_position_embeddings", None),
        ]
        self._longest = min(filter(None, length_limits))  # tokens
        self.n_cut = 0  # texts as long as that, which were probably truncated

    def _read(self, *texts: Sequence[str]) -> tuple[Any, Any]:
        """The model's output for a batch of texts or pairs of texts, and the mask of their tokens."""
        batch = self._tokenizer(
            *map(list, texts), padding=True, truncation=True, max_length=self._longest, return_tensors="pt"
        )
        self.n_cut += int((batch["attention_mask"].sum(dim=1) == self._longest).sum())
        with torch.inference_mode():
            return self._model(**batch.to(self._device)), batch["attention_mask"]


class PairClassifier(_TextModel):
    """A sequence classifier that reads pairs of texts."""

    def __init__(self, folder: str, name: str) -> None:
        super().__init__(folder, AutoModelForSequenceClassification, name)
        self.labels: dict[int, str] = dict(self._model.config.id2label)

    def logits(self, pairs: Sequence[tuple[str, str]]) -> np.ndarray:
        """The logits of one batch of pairs, (n_pairs, n_labels)."""
        first, second = zip(*pairs, strict=True)
        output, _ = self._read(first, second)
        logits: np.ndarray = output.logits.float().cpu().numpy()
        return logits


class Encoder(_TextModel):
    """A sentence encoder: the mean of a text's last hidden states, as in sentence-transformers."""

    def __init__(self, folder: str, name: str) -> None:
        super().__init__(folder, AutoModel, name)

    def vectors(self, texts: Sequence[str]) -> np.ndarray:
        """The embeddings of one batch of texts, (n_texts, n_dimensions), each of length 1."""
        output, mask = self._read(texts)
        weights = mask.unsqueeze(-1).to(self._device)
        means = (output.last_hidden_state * weights).sum(dim=1) / weights.sum(dim=1)
        vectors: np.ndarray = torch.nn.functional.normalize(means, dim=1).cpu().numpy()
        return vectors
