"""The report in a real browser: headless Chromium, where it is installed."""

import html
import json
import re
import shutil
import subprocess
from functools import cache

import numpy as np
import pytest

from dpforest import PrivateForestClassifier, Schema, datasets, evaluate
from dpforest.schema import CategoricalFeature, NumericFeature, Target

CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser")
FLAGS = (
    "--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run",
    "--disable-background-networking", "--disable-component-update", "--disable-sync",
    "--disable-extensions", "--enable-logging=stderr", "--virtual-time-budget=2000",
)  # fmt: skip
pytestmark = pytest.mark.skipif(
    CHROMIUM is None, reason="needs a browser: apt-get install chromium"
)
# A page is asked from outside, in a frame as wide as a phone: it may not run scripts itself.
ASKED = """<!doctype html><body style="margin:0"><iframe
style="width:{width}px;height:800px;border:0" srcdoc="{page}"></iframe><pre></pre><script>
document.querySelector("iframe").onload = (event) => {{
  const page = event.target.contentDocument;
  page.querySelectorAll("details").forEach((each) => (each.open = {opened}));
  const root = page.documentElement, wide = [...page.querySelectorAll("body *")].filter(
    (each) => !each.closest(".wide") && each.getBoundingClientRect().right > {width} + 0.5);
  document.querySelector("pre").textContent = JSON.stringify({{
    wide: wide.map((each) => each.tagName + "." + each.className), scrolls: root.scrollWidth,
    height: root.scrollHeight, ran: typeof page.defaultView.ran}});
}};
</script>"""


@cache
def page():
    """A page with all its sections, and names that are long, foreign or mean."""
    census = datasets.make_census(500, random_state=0)
    names = (
        "<script>window.ran=1</script>",
        "a_very_long_name_without_any_space_" * 4,
        "Größe, 尺寸",
    )
    features = (
        *(NumericFeature(name, 0, 240) for name in names),
        CategoricalFeature("education", census.schema.features[1].categories),
    )
    columns = ("age", "hours_per_week", "commute_minutes", "education")
    X = np.column_stack([census.X[name] for name in columns]).astype(object)
    schema = Schema(features, Target("income", classes=census.schema.classes))
    model = PrivateForestClassifier(schema=schema, n_estimators=20).fit(X, census.y)
    return model.report(evaluation=evaluate(model, X, census.y, epsilon=1.0)).html


def browse(tmp_path, content, *more):
    """Open a page; returns what it prints, what the console said, and every address asked for."""
    (tmp_path / "page.html").write_text(content, encoding="utf-8")
    log = tmp_path / "net.json"
    command = [CHROMIUM, *FLAGS, f"--user-data-dir={tmp_path / 'user'}", f"--log-net-log={log}"]
    done = subprocess.run(
        [*command, *more, f"file://{tmp_path}/page.html"],
        capture_output=True, text=True, timeout=120, check=True,
    )  # fmt: skip
    console = re.findall(r"CONSOLE[^\n]*", done.stderr)
    # An event a line; what the browser asks for its own sake has "not an origin" as its initiator.
    events = log.read_text(errors="replace").splitlines()
    own = [line for line in events if '"initiator":"null"' in line]
    asked = [address for line in own for address in re.findall(r'"url":"([^"]*)"', line)]
    return done.stdout, console, asked


def asked_of(tmp_path, width, opened):
    asked = ASKED.format(page=html.escape(page()), width=width, opened=json.dumps(opened))
    printed, console, _ = browse(tmp_path, asked, "--dump-dom")
    assert console == []
    return json.loads(html.unescape(re.search(r"<pre>(.*?)</pre>", printed, re.DOTALL)[1]))


def test_no_console_errors_and_no_request_leaves_the_page(tmp_path):
    _, console, asked = browse(tmp_path, page(), "--dump-dom")
    assert console == []
    assert asked == []


def test_control_errors_and_requests_are_seen(tmp_path):
    bad = "<script>console.error('oh')</script><img src='http://127.0.0.1:9/x.png'>"
    _, console, asked = browse(tmp_path, bad, "--dump-dom")
    assert any("oh" in line for line in console)
    assert any("127.0.0.1:9/x.png" in address for address in asked)


@pytest.mark.parametrize("width", [390, 1280])
@pytest.mark.parametrize("opened", [False, True])
def test_nothing_is_wider_than_the_screen(tmp_path, width, opened):
    found = asked_of(tmp_path, width, opened)
    assert found["wide"] == []
    assert found["scrolls"] <= width
    assert found["ran"] == "undefined"


def test_opening_everything_makes_the_page_longer(tmp_path):
    (tmp_path / "a").mkdir()
    (tmp_path / "b").mkdir()
    folded, opened = asked_of(tmp_path / "a", 390, False), asked_of(tmp_path / "b", 390, True)
    assert opened["height"] > folded["height"] + 500


def test_it_prints(tmp_path):
    target = tmp_path / "report.pdf"
    browse(tmp_path, page(), f"--print-to-pdf={target}", "--no-pdf-header-footer")
    printed = target.read_bytes()
    assert printed.startswith(b"%PDF")
    assert 3 <= len(re.findall(rb"/Type\s*/Page\b", printed)) <= 20
