"""Show the result of a monitor: on a terminal, as a page, as files, and the responses behind an alert."""
