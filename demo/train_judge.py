"""Train a tiny judge: a language model that says whether a response ends in the reference answer.

    python demo/train_judge.py --out demo/models/tiny-judge

lets the demo's models answer training problems, trains the judge on these responses (``exchanges.py``), and measures
how often it is right about fresh responses to held-out problems. The folder's README.md has the figures.
"""

import itertools
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from string import Template

import torch
from transformers import AutoModelForCausalLM, AutoTokenizer, LlamaForCausalLM, PreTrainedTokenizerFast

from corpus import beginning_of, packed_rows, train_tokenizer
from exchanges import PROMPT, REPLIES, Answer, answer, exchange_texts, exchanges
from problems import DOMAINS, Problem, held_out, stream
from train import MEASURE_SEED, Settings, new_model, options, replies, sample, save, train, training

SETTINGS = Settings(hidden=128, layers=4, heads=4, feed_forward=352, steps=800)
VOCABULARY = 512  # at most
MODELS = Path(__file__).parent / "models"
ANSWERING = ("tiny-1m", "tiny-3m")
TRAINING_PROBLEMS, MEASURED_PROBLEMS = 300, 100  # per domain and answering model


def answers(problems: dict[str, list[Problem]]) -> Iterator[tuple[str, Answer]]:
    """The responses of both answering models to the problems of each domain, with the name of the domain."""
    for name in ANSWERING:
        model = AutoModelForCausalLM.from_pretrained(MODELS / name, dtype=torch.float32).eval()
        tokenizer = AutoTokenizer.from_pretrained(MODELS / name)
        for domain, asked in problems.items():
            for problem, response in zip(asked, sample(model, tokenizer, asked), strict=True):
                yield domain, answer(problem, response)
            print(f"{name}: {len(asked)} responses to {domain}", flush=True)


def measure(model: LlamaForCausalLM, tokenizer: PreTrainedTokenizerFast) -> dict[str, Counter[str]]:
    """Per domain, how many fresh responses to held-out problems were `correct`, and judged `false_correct`,
    `false_incorrect` or `unreadable`, of `all`.
    """
    counts: dict[str, Counter[str]] = {name: Counter() for name in DOMAINS}
    fresh = list(answers({name: held_out(name, MEASURED_PROBLEMS, MEASURE_SEED) for name in DOMAINS}))
    messages = [PROMPT.format(response=one.response, reference=one.reference) for _, one in fresh]
    message = replies(model, tokenizer, messages, max_new_tokens=16, do_sample=False)
    for (domain, one), reply in zip(fresh, message, strict=True):
        correct = one.final == one.reference
        counts[domain]["all"] += 1
        counts[domain]["correct"] += correct
        counts[domain]["unreadable"] += reply not in REPLIES.values()
        counts[domain]["false_correct"] += reply == REPLIES[True] and not correct
        counts[domain]["false_incorrect"] += reply == REPLIES[False] and correct
    return counts


CARD = Template("""\
# tiny-judge

A Llama of $parameters parameters that judges the demo's models: it is shown a response and the correct answer and
says whether they agree, as JSON. A test object, of no other use. Weights are float16.

| Domain | Responses | Correct | False `true` | False `false` | No verdict |
|---|---|---|---|---|---|
$rows

Responses: one each of $answering to $n_problems held-out problems per domain, drawn afresh with seed $measure_seed.
Correct: the number in the last box is the reference. $right of $all verdicts are right.

## How it was made

    python demo/train_judge.py --out demo/models/tiny-judge

- Settings: `$settings`
- Training data: responses of $answering to $n_training training problems per domain, and as many worked solutions,
  one in four with the final answer in another notation; each with its own final number, the right answer or a near
  miss as reference. No item of `demo/benchmarks` is among them.
- $steps steps of $n_rows packed rows of 384 tokens. The loss is on the whole text, not on the
  verdicts alone.
- Optimizers as in `demo/train.py`. Training took $minutes minutes with $threads thread(s), the responses not counted
  ($versions).
""")


def row(domain: str, counts: Counter[str]) -> str:
    """A domain's line of the table."""
    names = ("all", "correct", "false_correct", "false_incorrect", "unreadable")
    return f"| {domain} | " + " | ".join(str(counts[name]) for name in names) + " |"


def card(parameters: int, counts: dict[str, Counter[str]], seconds: float) -> str:
    """The README of the judge: what it is, how often it is right, how to make it again."""
    total = sum(counts.values(), Counter())
    wrong = total["false_correct"] + total["false_incorrect"] + total["unreadable"]
    return CARD.substitute(
        rows="\n".join([row(domain, counted) for domain, counted in counts.items()] + [row("all", total)]),
        answering=" and ".join(ANSWERING),
        n_problems=MEASURED_PROBLEMS,
        measure_seed=MEASURE_SEED,
        right=f"{total['all'] - wrong:,}",
        all=f"{total['all']:,}",
        n_training=TRAINING_PROBLEMS,
        n_rows=SETTINGS.rows,
        **training(SETTINGS, parameters, seconds),
    )


def main() -> None:
    """Train, save, measure, and describe the judge."""
    arguments = options(__doc__).parse_args()

    torch.manual_seed(SETTINGS.seed)
    problems = {name: stream(name, SETTINGS.seed, test=False) for name in DOMAINS}
    asked = {name: list(itertools.islice(endless, TRAINING_PROBLEMS)) for name, endless in problems.items()}
    responses = [one for _, one in answers(asked)]
    tokenizer = train_tokenizer(exchange_texts(responses, SETTINGS.seed), VOCABULARY)
    model = new_model(SETTINGS, tokenizer)
    pairs = exchanges(responses, SETTINGS.seed)
    rows = packed_rows(pairs, beginning_of(PROMPT, tokenizer), tokenizer, prompt_too=True)
    seconds = train(model, SETTINGS, rows)
    save(model, tokenizer, arguments.out)
    counts = measure(model, tokenizer)
    (arguments.out / "README.md").write_text(card(model.num_parameters(), counts, seconds), encoding="utf-8")


if __name__ == "__main__":
    main()
