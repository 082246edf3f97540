"""Which responses to label, the file and page to label them in, and what the labels make of the estimates."""
