"""Model folders with the published shapes of the study's nine models, a made-up tokenizer and no weights.

vLLM makes up the weights (`load_format: dummy`, or `spread` of spread_weights.py), so loading, memory and speed can be
measured at real size without a download. Answers of such a model are nonsense.
"""
