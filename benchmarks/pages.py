"""Everything on the pages for users that is computed: ``python -m benchmarks.pages`` renews it.

The printed blocks, the price of privacy and the pictures; a test compares the blocks.
"""

import contextlib
import io
import re
import shutil
import subprocess
import tempfile
from pathlib import Path

import matplotlib

matplotlib.use("Agg")
from matplotlib import pyplot
from PIL import Image

from dpforest import PrivateForestClassifier, datasets
from dpforest.cli import demo

ROOT = Path(__file__).parents[1]
PAGES = (
    "README.md",
    "docs/getting-started.md",
    "docs/flagship.md",
    "docs/schema.md",
    "docs/explanations.md",
    "docs/export.md",
    "docs/evaluation.md",
    "docs/choice.md",
    "docs/imbalance.md",
    "docs/small-data.md",
    "docs/budget.md",
    "docs/scale.md",
    "docs/report.md",
    "docs/contributing.md",
    *sorted(f"docs/guides/{path.name}" for path in (ROOT / "docs" / "guides").glob("*.md")),
)
PRICES = "docs/flagship.md"
PRICE_TABLE = re.compile(r"^\| model \| test accuracy \|\n(?:\|.*\n)+", re.MULTILINE)
BLOCK = re.compile(r"^```(python|text)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
IMAGES = ROOT / "docs" / "images"
EFFECTS = ("age", "education", "hours_per_week")


def printed_by(source: str, names: dict[str, object]) -> str:
    """Run a block with the names that earlier blocks made."""
    output = io.StringIO()
    with contextlib.redirect_stdout(output):
        exec(compile(source, "<block>", "exec"), names)
    return output.getvalue()


def renewed(page: str) -> str:
    """The page with what its blocks print now."""
    names: dict[str, object] = {}
    printed = ""

    def renew(block: re.Match[str]) -> str:
        nonlocal printed
        if block[1] == "text":
            return f"```text\n{printed}```"
        printed = printed_by(block[2], names)
        return block[0]

    return BLOCK.sub(renew, page)


def price_table() -> str:
    """What ``dpforest demo --random-state 0`` finds, as Markdown."""
    rows = demo.run(50_000, random_state=0).rows
    lines = [f"| {row.model} | {row.accuracy:.3f} |" for row in rows]
    return "\n".join(["| model | test accuracy |", "|---|---|", *lines, ""])


def draw() -> None:
    """Draw the pictures of docs/flagship.md."""
    census = datasets.make_census(50_000, random_state=0)
    forest = PrivateForestClassifier(epsilon=1.0, schema=census.schema, random_state=0)
    forest.fit(census.X, census.y)
    forest.plot_importance().figure.savefig(IMAGES / "importance.png", dpi=80)
    figure, axes = pyplot.subplots(1, 3, figsize=(11, 3.4), sharey=True, layout="constrained")
    for feature, ax in zip(EFFECTS, axes, strict=True):
        forest.plot_effect(feature, ax=ax).label_outer()
    figure.savefig(IMAGES / "effects.png", dpi=80)
    draw_report()


def draw_report() -> None:
    """Draw the top of a report, where a browser is installed."""
    browser = shutil.which("chromium")
    if browser is None:
        print("docs/images/report.png is left as it is: chromium is not installed")
        return
    census = datasets.make_census(20_000, random_state=0)
    forest = PrivateForestClassifier(epsilon=1.0, schema=census.schema).fit(census.X, census.y)
    with tempfile.TemporaryDirectory() as folder:
        forest.save(f"{folder}/model.dpforest", table="census 2026")
        forest.report(file=f"{folder}/model.dpforest").save(f"{folder}/report.html")
        flags = ["--headless", "--no-sandbox", "--disable-gpu", "--hide-scrollbars"]
        size, shot = "--window-size=1280,1180", f"--screenshot={folder}/report.png"
        page = [f"--user-data-dir={folder}/user", size, shot, f"file://{folder}/report.html"]
        subprocess.run([browser, *flags, *page], check=True, capture_output=True)
        with Image.open(f"{folder}/report.png") as picture:
            small = picture.convert("RGB").resize((960, 885)).quantize(64)
            small.save(IMAGES / "report.png", optimize=True)


def main() -> None:
    """Renew the pages in place."""
    texts = {page: (ROOT / page).read_text(encoding="utf-8") for page in PAGES}
    texts[PRICES] = PRICE_TABLE.sub(price_table(), texts[PRICES])
    for page, text in texts.items():
        # Blocks save models where they run.
        with tempfile.TemporaryDirectory() as elsewhere, contextlib.chdir(elsewhere):
            (ROOT / page).write_text(renewed(text), encoding="utf-8")
    draw()


if __name__ == "__main__":
    main()
