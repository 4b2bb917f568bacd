"""Forests as arrays: their structure, how it is grown, how its leaves vote.

Nothing in this package sees a record or an exact total: it works with public facts, random
draws and numbers that were already released, so all of it is post-processing.
"""
