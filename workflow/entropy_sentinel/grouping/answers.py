"""The answer that a response gives, as it is compared."""

from entropy_sentinel.judges.answers import final_answer
from entropy_sentinel.judges.judge import Unclear


def answer_of(response: str, truncated: bool) -> str:
    """The final answer, or else the whole response; no space around it, may be empty.

    A response that is cut off is whole too: what it says so far is what is compared.
    """
    try:
        return final_answer(response, truncated).text.strip()
    except Unclear:
        return response.strip()
