"""The configuration: all sections combined, loaded and checked."""
