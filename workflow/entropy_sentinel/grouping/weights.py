"""Where weights are: a folder on this machine, or one in the cache of the hub, at the commit that the study uses."""

from typing import Any, NamedTuple

from entropy_sentinel.grouping.settings import WeightsSettings

# Further copies of the same weights, for other packages than PyTorch.
_COPIES = ("*.h5", "*.msgpack", "*.ot", "*.onnx", "onnx/*", "openvino/*", "coreml/*")


class Weights(NamedTuple):
    """Weights in a folder, what they are called, and which they are: a commit of the hub, or a hash of the content."""

    folder: str
    name: str
    revision: str

    @property
    def provenance(self) -> dict[str, Any]:
        """What files that rest on them say."""
        return {"weights": self.name, "weights_revision": self.revision}


def located(settings: WeightsSettings) -> Weights:
    """The weights that the settings name, downloaded where they are not there. Raises InputError as `hub` does."""
    if settings["path"] is not None:
        assert settings["revision"] is not None  # of a folder, its hash
        return Weights(settings["path"], settings["path"], settings["revision"])
    model = settings["model"]
    assert model is not None  # a section has the one or the other
    from entropy_sentinel.sources import hub  # reads HF_HOME when it is imported

    commit = hub.pinned_commit("model", model, settings["revision"], settings["revisions"])
    return Weights(hub.snapshot("model", model, commit, _COPIES), model, commit)
