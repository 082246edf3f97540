"""The Hugging Face hub: commits and files of weights and data sets, and the texts of tokens by their tokenizers.

May be imported by: `logs`, `signal_families` and every room above.
"""
