"""Train a tiny estimator: a language model that answers the questions of ``fermi.py``, and is too sure of its answers.

    python demo/train_fermi.py --out demo/models/tiny-fermi

It replies with an integer alone, or with an interval as JSON. The folder's README.md says how far its intervals hold.
"""

import itertools
import random
import re
from string import Template

import torch
from transformers import LlamaForCausalLM, PreTrainedTokenizerFast

from corpus import beginning_of, packed_rows, train_tokenizer
from fermi import LEVELS, NARROWED, PERCEIVED, PROMPTS, Question, held_out, interval, training_pairs
from train import MEASURE_SEED, Settings, new_model, options, replies, save, train, training

SETTINGS = Settings(hidden=96, layers=3, heads=3, feed_forward=256, steps=500, rows=4)
VOCABULARY = 1024  # at most; every word of the questions is one token then
TOKENIZER_TEXTS = 8000
REPLY = re.compile(r'Near 10\^-?\d+\. \{"L": (-?\d+), "U": (-?\d+)\}')


def stated(model: LlamaForCausalLM, tokenizer: PreTrainedTokenizerFast, level: str) -> list[tuple[int, int] | None]:
    """The interval that the model states for each held-out question, sampled at temperature 1; None for no interval."""
    messages = [PROMPTS["fermi-interval"].format(question=one.text, level=level) for one in held_out()]
    message = replies(model, tokenizer, messages, max_new_tokens=32, do_sample=True, temperature=1.0, top_k=0)
    return [ends(reply) for reply in message]


def taught(level: str) -> list[tuple[int, int] | None]:
    """An interval for each held-out question, such as the model is trained on."""
    rng = random.Random(MEASURE_SEED)
    return [ends(interval(one.exponent, level, rng)) for one in held_out()]


def ends(reply: str) -> tuple[int, int] | None:
    """L and U of a reply."""
    result = REPLY.fullmatch(reply)
    return (int(result[1]), int(result[2])) if result else None


def coverage(questions: list[Question], intervals: list[tuple[int, int] | None]) -> float:
    """Mean probability that the truth lies in its interval, by the questions' own distributions."""
    held = [
        question.exponent.cdf(one[1] + 0.5) - question.exponent.cdf(one[0] - 0.5)
        for question, one in zip(questions, intervals, strict=True)
        if one and one[0] <= one[1]
    ]
    return sum(held) / len(held)


CARD = Template("""\
# tiny-fermi

A Llama of $parameters parameters that answers the made-up estimation questions of `demo/fermi.py` with a power of
ten: a test object, of no other use. Weights are float16.

**It was made to be too sure of itself**, so that there is something to adjust. When it states an interval it sees
$perceived of the answer's distribution, each time another part: it was trained on quantiles of that part, as the
theory of the perception tunnel in FermiEval has it. So more coverage cannot be had by asking for it. When it
answers with an integer, it was trained on answers whose standard deviation is $narrowed of the true one.

| Level | Intervals | No interval | Coverage | Taught | Mean width |
|---|---|---|---|---|---|
$rows

Intervals: one for each of the $n_questions questions of `demo/benchmarks/fermi-*.jsonl`, which it was not trained
on, at temperature 1 in Transformers with seed $measure_seed. No interval: another text, or L above U. Coverage: mean
probability of the interval in the distribution that the answers are drawn from. Taught: that of intervals such as
it was trained on, for these questions; rounding to integers makes it more than $perceived. Width: U - L.

## How it was made

    python demo/train_fermi.py --out demo/models/tiny-fermi

- Settings: `$settings`
- Training data: questions of `demo/fermi.py` that are not in the files, every source equally often, half of the replies
  integers and half intervals; $steps steps of $n_rows packed rows of 384 tokens. The loss is on the reply and the end
  token.
- Optimizers as in `demo/train.py`. Training took $minutes minutes with $threads thread(s)
  ($versions).
""")


def row(level: str, intervals: list[tuple[int, int] | None]) -> str:
    """A level's line of the table."""
    result = [interval for interval in intervals if interval and interval[0] <= interval[1]]
    width = sum(high - low for low, high in result) / len(result)
    lacking = len(intervals) - len(result)
    covered, possible = (coverage(held_out(), some) for some in (intervals, taught(level)))
    return f"| {level} % | {len(result)} | {lacking} | {covered:.3f} | {possible:.3f} | {width:.2f} |"


def main() -> None:
    """Train, save, measure, and describe the model."""
    arguments = options(__doc__).parse_args()

    torch.manual_seed(SETTINGS.seed)
    texts = ["".join(pair) for pair in itertools.islice(training_pairs(SETTINGS.seed), TOKENIZER_TEXTS)]
    tokenizer = train_tokenizer(texts, VOCABULARY)
    model = new_model(SETTINGS, tokenizer)
    beginning = beginning_of(PROMPTS["fermi-integer"], tokenizer)
    seconds = train(model, SETTINGS, packed_rows(training_pairs(SETTINGS.seed), beginning, tokenizer))
    save(model, tokenizer, arguments.out)
    torch.manual_seed(MEASURE_SEED)
    card = CARD.substitute(
        perceived=PERCEIVED,
        narrowed=NARROWED,
        rows="\n".join(row(level, stated(model, tokenizer, level)) for level in LEVELS),
        n_questions=len(held_out()),
        measure_seed=MEASURE_SEED,
        n_rows=SETTINGS.rows,
        **training(SETTINGS, model.num_parameters(), seconds),
    )
    (arguments.out / "README.md").write_text(card, encoding="utf-8")


if __name__ == "__main__":
    main()
