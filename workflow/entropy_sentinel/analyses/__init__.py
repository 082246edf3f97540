"""What is read off the stages' files, one folder per question."""
