"""How the package works, not what it computes: files, locks, servers, secrets, errors, options, extensions.

No code here decides a number in a result, so its change reruns no job (study/jobs/code_fingerprint.py). It therefore
sees no values: it imports neither Polars nor NumPy, and no other room. What decides values belongs in `schemas` or
above. May be imported by: `schemas`, `formatting` and every room above.
"""
