"""`entropy-sentinel plan`."""

from entropy_sentinel.commands.options import ConfigFiles, load_study


def command(configfile: ConfigFiles = []) -> None:
    """Show what a study will take.

    Responses done and left, and for what is left: tokens, disk, GPU-hours, dollars and CPU-hours, per model and in
    total. Nothing is run or downloaded. Figures come from files that are there, else from `rates` in the config.
    """
    from entropy_sentinel.planning.forecast import plan
    from entropy_sentinel.report.terminal import show

    show(plan(load_study(configfile)))
