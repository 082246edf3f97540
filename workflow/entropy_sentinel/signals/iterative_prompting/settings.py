"""What the pass asks: the config's section `signals.iterative_prompting`."""

from typing import Annotated

from pydantic import AfterValidator, Field

from entropy_sentinel.frames.sections import Settings, Text, Whole


def _with_places(prompt: str) -> str:
    for name in ("question", "answer"):
        if f"{{{name}}}" not in prompt:
            raise ValueError(f"must have a place for {{{name}}}")
    return prompt


class IterativePrompting(Settings):
    """Iterative prompting: whether the model still gives the same answers where one of them is in its prompt."""

    samples: Annotated[Whole, Field(ge=2, le=2**16)] = Field(
        10,
        description="of each item the first so many responses are put into the prompt and judged, each distinct answer "
        "once; an item with fewer has no score. The pass asks about every pair of them",
    )
    prompt: Annotated[Text, AfterValidator(_with_places)] = Field(
        "A possible answer to the question {question} is {answer}.\nQ: {question}?\nA:",
        description="what is asked with an answer in it, in the place of the message with the question, or of plain "
        "text's last paragraph, so that examples stay before it. The mark at the end of a question or an answer is not "
        "doubled",
    )
