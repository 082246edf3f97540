"""What to do about responses without features, by the reason that `compute` gives."""

from collections.abc import Mapping

# By the words of a reason; the first entry that a reason contains counts.
_REMEDIES: Mapping[str, str] = {
    "add up to more than 1": "write each alternative once; if the sampled token is listed besides the alternatives, "
    "remove the copy; values must be log-probabilities, not logits or penalised scores",
    "more likely than the first of its top": "the alternatives must be the most likely tokens, with the sampled one if "
    "it is among them: request them from the server without a filter such as top_p, or add the sampled token",
    "positive log-probability": "take the logarithm of the softmax over the vocabulary",
    "in place of their logarithms": "take their logarithms",
    "NaN in the log-probabilities": "write null for an alternative of probability 0, and no value otherwise",
    "equally likely": "the server writes a constant in place of log-probabilities; request `logprobs: true`",
    "with a probability above 0": "request log-probabilities before temperature and filters",
    "no sampler draws such tokens": "the values are of another token or of a prompt; check which tokens they belong to",
    "no log-probabilities in the log": "request `logprobs: true, top_logprobs: 5` (docs: Formats of logs)",
    "no alternatives to the sampled tokens": "request alternatives: `top_logprobs: 5`, or `logprobs: 5` for texts",
    "no token after the thinking": "raise the token limit, or leave out --trace-after",
}


def remedy_of(reason: str) -> str | None:
    """Return what to do about responses with this reason; null if nothing can or need be done."""
    for words, remedy in _REMEDIES.items():
        if words in reason:
            return remedy
    return None
