"""What pytest collects: modules that need Spark only where it is installed."""

from importlib.util import find_spec

# All others must import: a module that does not is an error, not something to pass over.
collect_ignore_glob = [] if find_spec("pyspark") else ["src/dpforest/*/spark_*.py"]
