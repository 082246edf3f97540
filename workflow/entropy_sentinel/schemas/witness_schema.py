"""Witnesses: what is known of a response without a person, such as a judge's verdict or another model's answer."""

from enum import StrEnum

# Columns of a file of a witness, beside the keys of responses, `label` and `weight`.
WITNESS, JUDGE, PROBABILITY, COMPARABLE = "witness", "judge", "probability", "comparable"
# The column with the value of a witness: its probability that a response is correct, or its label as 0 or 1.
VALUE = "value"
# Texts of a second opinion: the other model's answer, the logged one, and the reference, if there is one.
ANSWER, RESPONSE_TEXT, TARGET = "answer", "response", "target"
# The column with all samples of a response, if several files have weights: structs of SAMPLE, its number, and a weight.
SAMPLES, SAMPLE = "(samples)", "(sample)"
# Whether the other model's answer matches the reference, and whether the logged one does.
PARTNER_RIGHT, LOGGED_RIGHT = "partner_right", "logged_right"


class WitnessKind(StrEnum):
    """What a witness says of a response."""

    # Whether the response is correct.
    VERDICT = "verdict"
    # Whether another model's answer to the same question agrees with the response.
    SECOND_OPINION = "second-opinion"


_TITLES = {WitnessKind.VERDICT: "judge", WitnessKind.SECOND_OPINION: "second opinion of"}


def name_witness(kind: WitnessKind, model: str | None) -> str:
    """The name of a witness for people, such as `judge gpt-5`; `model` is null if it is unknown."""
    title = _TITLES[kind]
    return f"{title} {model}" if model else title.removesuffix(" of")
