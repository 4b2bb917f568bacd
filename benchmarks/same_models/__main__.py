"""Prove that a refactoring changed no model.

``python -m benchmarks.same_models record OUT.json`` fits every case with the dpforest that Python
finds; ``... compare BEFORE.json AFTER.json`` tells two such files apart, and ends with 1 when a
prediction, an array or a guarantee differs.
"""

from __future__ import annotations

import argparse
import json
import platform
import sys
import time
from pathlib import Path

import numba
import numpy
import scipy
import sklearn
from rich.console import Console

import dpforest
from benchmarks.same_models import cases, digests
from benchmarks.same_models.differences import show
from dpforest import literature


def record(path: Path) -> None:
    start = time.perf_counter()
    found = {case.name: digests.of_case(case) for case in cases.all_cases()}
    found |= {name: digests.of_schema(infer) for name, infer in cases.inferred_schemas()}
    found |= {f"describe/{name}": digests.of_description(name) for name in literature.names()}
    libraries = (numpy, scipy, sklearn, numba)
    about = {
        "source": str(Path(dpforest.__file__).parent),
        "dpforest": dpforest.__version__,
        "python": platform.python_version(),
        "machine": platform.machine(),
        **{library.__name__: library.__version__ for library in libraries},
    }
    path.write_text(json.dumps({"about": about, "cases": found}, indent=1) + "\n", encoding="utf-8")
    errors = sum("error" in case for case in found.values())
    print(
        f"{len(found)} cases of {about['source']}, {errors} of them refused, "
        f"in {time.perf_counter() - start:.0f} s"
    )


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.same_models", description=__doc__)
    commands = parser.add_subparsers(dest="command", required=True)
    commands.add_parser("record").add_argument("out", type=Path)
    comparing = commands.add_parser("compare")
    comparing.add_argument("before", type=Path)
    comparing.add_argument("after", type=Path)
    options = parser.parse_args()
    if options.command == "record":
        record(options.out)
        return 0
    before, after = (json.loads(path.read_text()) for path in (options.before, options.after))
    return show(before, after, Console(width=160))


if __name__ == "__main__":
    sys.exit(main())
