"""Choose responses to label, write the file and page for labelling, and improve estimates with the labels."""
