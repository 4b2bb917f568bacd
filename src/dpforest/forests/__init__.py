"""The estimators: short recipes over the rooms, one family a file."""
