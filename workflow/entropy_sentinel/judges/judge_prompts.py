"""The package's prompts for LLM judges. A changed prompt gets a new version; it is never edited silently."""

from entropy_sentinel.llm_client.server_settings import Prompt

PROMPTS: dict[str, Prompt] = {
    # The paper's appendix C.2, verbatim.
    "corresponds": Prompt(
        version=1,
        system="Task: Determine if the Response corresponds to the Correct Answer for the Question, based on the given "
        'Correct Answer text. Answer ONLY with the exact format: {"success": True} or {"success": False}',
        user="# Question\n{question}\n\n# Response\n{response}\n\n# Correct Answer\n{reference}",
    ),
}

# For responses of a deployed model, which have no reference answer. The verdict comes last, after the judge's own
# answer.
WITHOUT_REFERENCE = Prompt(
    version=1,
    system="Task: Decide whether the Response answers the Question correctly. There is no answer key: first work out "
    "the answer yourself, step by step, and then compare. A Response without a final answer is not correct. End your "
    'reply with exactly one line: {"success": true} or {"success": false}',
    user="# Question\n{question}\n\n# Response\n{response}",
)
