"""Floor 5: what is read off the stages' files, one folder per question."""
