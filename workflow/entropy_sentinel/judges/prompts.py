"""The package's prompts for LLM judges. A changed prompt gets a new version; it is never edited silently."""

from entropy_sentinel.chat.settings import Prompt

PROMPTS: dict[str, Prompt] = {
    # The paper's appendix C.2, verbatim.
    "corresponds": Prompt(
        version=1,
        system="Task: Determine if the Response corresponds to the Correct Answer for the Question, based on the given "
        'Correct Answer text. Answer ONLY with the exact format: {"success": True} or {"success": False}',
        user="# Question\n{question}\n\n# Response\n{response}\n\n# Correct Answer\n{reference}",
    ),
}
