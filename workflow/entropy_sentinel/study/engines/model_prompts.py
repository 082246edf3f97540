"""The package's prompts for models. A changed prompt gets a new version."""

from entropy_sentinel.llm_client.server_settings import Prompt

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
