"""Measure what is missing, then write docs/literature.md; with --write only the latter."""

import argparse

from benchmarks.literature import measure, page


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.literature", description=__doc__)
    parser.add_argument("--write", action="store_true", help="write the page, measure nothing")
    parser.add_argument("--data", nargs="*", default=measure.DATA, choices=measure.DATA)
    parser.add_argument("--seeds", type=int, default=5, help="seeds 0, 1, ... (default 5)")
    parser.add_argument("--methods", nargs="*", default=list(measure.methods()), metavar="METHOD")
    parser.add_argument("--again", nargs="*", default=[], metavar="METHOD", help="measure anew")
    options = parser.parse_args()
    if not options.write:
        measure.forget(options.again)
        for name in options.data:
            measure.measure(name, range(options.seeds), options.methods)
    page.PAGE.write_text(page.render(), encoding="utf-8")


if __name__ == "__main__":
    main()
