"""The prompts that models are asked with. A prompt that changes gets a new version, never a silent edit."""

from entropy_sentinel.chat.settings import Prompt

PROMPTS: dict[str, Prompt] = {
    # The paper's appendix C.1, verbatim, newlines included.
    "solve-step-by-step": Prompt(
        version=1,
        user="Solve the following problem step by step, then provide the final numerical answer.\n"
        "\n"
        "Question: {question}\n"
        "\n"
        "Solution:",
    ),
}
