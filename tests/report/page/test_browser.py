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
# A page is asked from outside, in frames as wide as screens: it may not run scripts itself.
SCREENS = [(width, opened) for width in (390, 1280) for opened in (False, True)]
FRAME = '<iframe style="width:{}px;height:800px;border:0" name="{}" srcdoc="{}"></iframe>'
ASK = """<pre></pre><script>
onload = () => {
  const found = [...document.querySelectorAll("iframe")].map((frame) => {
    const page = frame.contentDocument, width = frame.clientWidth;
    page.querySelectorAll("details").forEach((each) => (each.open = frame.name == "opened"));
    const wide = [...page.querySelectorAll("body *")].filter(
      (each) => !each.closest(".wide") && each.getBoundingClientRect().right > width + 0.5);
    return {wide: wide.map((each) => each.tagName + "." + each.className),
      scrolls: page.documentElement.scrollWidth, height: page.documentElement.scrollHeight,
      ran: typeof page.defaultView.ran};
  });
  document.querySelector("pre").textContent = JSON.stringify(found);
};
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


@pytest.fixture(scope="module")
def screens(tmp_path_factory):
    """What the page is like on narrow and wide screens, folded and opened."""
    frames = [
        FRAME.format(width, "opened" if opened else "folded", html.escape(page()))
        for width, opened in SCREENS
    ]
    content = "<!doctype html>" + "".join(frames) + ASK
    printed, console, _ = browse(tmp_path_factory.mktemp("screens"), content, "--dump-dom")
    assert console == []
    found = json.loads(html.unescape(re.search(r"<pre>(.*?)</pre>", printed, re.DOTALL)[1]))
    return dict(zip(SCREENS, found, strict=True))


def test_no_console_errors_and_no_request_leaves_the_page(tmp_path):
    _, console, asked = browse(tmp_path, page(), "--dump-dom")
    assert console == []
    assert asked == []


def test_control_errors_and_requests_are_seen(tmp_path):
    bad = "<script>console.error('oh')</script><img src='http://127.0.0.1:9/x.png'>"
    _, console, asked = browse(tmp_path, bad, "--dump-dom")
    assert any("oh" in line for line in console)
    assert any("127.0.0.1:9/x.png" in address for address in asked)


@pytest.mark.parametrize("screen", SCREENS)
def test_nothing_is_wider_than_the_screen(screens, screen):
    found = screens[screen]
    assert found["wide"] == []
    assert found["scrolls"] <= screen[0]
    assert found["ran"] == "undefined"


def test_opening_everything_makes_the_page_longer(screens):
    assert screens[390, True]["height"] > screens[390, False]["height"] + 500


def test_it_prints(tmp_path):
    target = tmp_path / "report.pdf"
    browse(tmp_path, page(), f"--print-to-pdf={target}", "--no-pdf-header-footer")
    printed = target.read_bytes()
    assert printed.startswith(b"%PDF")
    assert 3 <= len(re.findall(rb"/Type\s*/Page\b", printed)) <= 20
