"""What `entropy-sentinel init` finds in files, and the study that it writes."""
