"""Made-up weights with which a model prefers some tokens to others: vLLM's load format `spread`.

`load_format: dummy` gives every token the same probability to the fifth digit, so no sampled token is among the 20 most
likely, and traces compress as no real ones do. This format spreads the logits; all other weights stay as small as vLLM
makes them, so the computation is the same. A token's distribution then depends on the token before it.
"""

from pathlib import Path
from typing import Any

# Standard deviation of the logits: some tokens that are sampled at temperature 1 are not among the 20 most likely.
_SPREAD = 6.0
# How much wider the logits of tokens are that tests want to see, such as those that end a response.
_WIDER = 3.0
FORMAT = "spread"


def register() -> None:
    """Add the format to vLLM in this process; engines' own processes call it as a plugin (`install_plugin`)."""
    import torch
    from vllm.model_executor.model_loader import register_model_loader
    from vllm.model_executor.model_loader.dummy_loader import DummyModelLoader

    class SpreadLoader(DummyModelLoader):
        def __init__(self, load_config: Any) -> None:
            more = load_config.model_loader_extra_config
            self._frequent, self._seed = more.pop("frequent", []), more.pop("seed", 0)
            super().__init__(load_config)

        def load_weights(self, model: Any, model_config: Any) -> None:
            super().load_weights(model, model_config)
            wide = _SPREAD / model_config.get_hidden_size() ** 0.5
            # Gemma's norms multiply by one more than their weights.
            shift = float("gemma" in model_config.hf_config.model_type)
            with torch.no_grad():
                random = torch.Generator(next(model.parameters()).device).manual_seed(self._seed)
                for name, weights in model.named_parameters():
                    if name.endswith(("embed_tokens.weight", "embedding.weight", "lm_head.weight")):
                        weights.normal_(0.0, wide, generator=random)
                        weights[self._frequent] *= _WIDER
                    elif name.endswith("model.norm.weight"):
                        # Without changes of sign, a model with tied embeddings repeats its last token.
                        weights.bernoulli_(0.5, generator=random).mul_(2.0).sub_(1.0 + shift)

    register_model_loader(FORMAT)(SpreadLoader)


def install_plugin(folder: Path) -> Path:
    """Write to `folder` what makes every process of vLLM call `register`; put it and `benchmarks` on PYTHONPATH."""
    described = folder / "entropy_sentinel_shapes-1.dist-info"
    described.mkdir(parents=True, exist_ok=True)
    (described / "METADATA").write_text("Metadata-Version: 2.1\nName: entropy-sentinel-shapes\nVersion: 1\n")
    (described / "entry_points.txt").write_text(f"[vllm.general_plugins]\nspread = {__name__}:register\n")
    return folder
