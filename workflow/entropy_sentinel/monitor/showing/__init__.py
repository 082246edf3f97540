"""What a monitor has found, at a terminal, as a page, as files, and as the responses behind an alert."""
