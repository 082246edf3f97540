"""The catalogue of a monitor's outputs other than the terminal: files and other targets.

The command has an option for each output, and the workflow writes the `files` of each. The outputs of extensions follow
this package's own.
"""

from entropy_sentinel.frames.entries import declared
from entropy_sentinel.monitor.showing.output import Output

OUTPUTS: dict[str, Output] = declared("outputs", Output)
