"""What other evaluators do, re-created: candidate and reference in one process, by a table of rules.

Nothing here is to be trusted, as it is not in the originals: the candidate can reach all of it.
"""
