"""The answer that a response gives, as it is compared."""

from entropy_sentinel.judges.exact import final_answer
from entropy_sentinel.judges.judge import Case


def answer_of(response: str, truncated: bool) -> str:
    """What is boxed or stated to be the answer, or else the whole response; no space around it, may be empty.

    A response that is cut off is whole too: what it says so far is what is compared.
    """
    found = final_answer(Case(question="", response=response, reference="", truncated=truncated))
    return (response if found is None else found).strip()
