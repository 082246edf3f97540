"""The prompts that models are asked with. A prompt that changes gets a new version, never a silent edit."""

from dataclasses import dataclass


@dataclass(frozen=True)
class Prompt:
    """A single user message; `template` holds `{question}` once."""

    version: int
    template: str

    def render(self, question: str) -> str:
        """The message for one question. The question is inserted as it is, braces included."""
        return self.template.replace("{question}", question)


PROMPTS: dict[str, Prompt] = {
    # The paper's appendix C.1, verbatim, newlines included.
    "solve-step-by-step": Prompt(
        version=1,
        template="Solve the following problem step by step, then provide the final numerical answer.\n"
        "\n"
        "Question: {question}\n"
        "\n"
        "Solution:",
    ),
}
