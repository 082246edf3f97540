"""The prompt with an answer in it."""

from entropy_sentinel.chat.settings import Said
from entropy_sentinel.engines.catalogue import PROMPTS
from entropy_sentinel.engines.engine import Asked
from entropy_sentinel.engines.generation import PromptSettings
from entropy_sentinel.stages.generation import asked

_QUESTION = "{question}"
# Marks that a question or an answer may end with already where the template has one.
_MARKS = ("?", ".", "!")


def with_answer(asked_with: PromptSettings, template: str, question: str, answer: str) -> Asked:
    """What a model is asked with a question and a possible answer, `template`, as it is asked otherwise.

    A chat keeps its other messages, and the template replaces the one with the question. Plain text keeps what stands
    before the paragraph with the question: the examples of a few-shot prompt, of which that paragraph, `Q: .. A:`, is
    the end of prompt 3 in the paper. The paper does not say whether its examples stay there.
    """
    for place, value in (("question", question), ("answer", answer)):
        if value.endswith(_MARKS):
            template = template.replace(f"{{{place}}}{value[-1]}", f"{{{place}}}")
    variables = {**asked_with.get("prompt_variables", {}), "answer": answer}
    own: PromptSettings = {**asked_with, **_said(asked_with, template), "prompt_variables": variables}
    return asked(own, question)


def _said(asked_with: PromptSettings, template: str) -> Said:
    """The model's own prompt with the template in the place of the question's part; places are not filled yet."""
    if text := asked_with.get("text"):
        before, blank, _ = text[: text.index(_QUESTION)].rpartition("\n\n")
        return {"text": f"{before}{blank}{template}"}
    chat = asked_with.get("messages") or PROMPTS[asked_with["prompt"]].chat
    return {"messages": [{**one, "content": template} if _QUESTION in one["content"] else one for one in chat]}
