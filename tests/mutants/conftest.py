"""The runner is a program, not a test."""

collect_ignore = ["planted.py", "run.py"]
