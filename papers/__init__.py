"""Further papers' analyses of the pipeline's results: an extension of Entropy Sentinel, a folder for each paper.

A folder has all that only its paper needs: settings, rules, code, families of signals, published numbers and tests. It
can be deleted, and a further folder needs no other edit.
"""
