"""Pictures stay within their frames and say what they show."""

import re
from itertools import pairwise

from hypothesis import given, settings
from hypothesis import strategies as st

from dpforest.report.page.charts import HEIGHT, WIDTH, Plot, bars, compact, meter, scale, ticks
from dpforest.report.page.markup import Html, number, percent, safe, tag

finite = st.floats(-1e9, 1e9, allow_nan=False, allow_subnormal=False)


@given(finite, finite)
@settings(max_examples=60)
def test_ticks_are_round_and_cover(one, other):
    low, high = sorted((one, other))
    marks = ticks(low, high)
    assert 2 <= len(marks) <= 8
    slack = (marks[1] - marks[0]) * 1e-6
    assert marks[0] - slack <= low <= high <= marks[-1] + slack


@given(st.lists(st.tuples(finite, finite), min_size=2, max_size=8), st.text(max_size=20))
@settings(max_examples=40)
def test_a_curve_stays_in_its_frame(points, label):
    xs, ys = zip(*points, strict=True)
    plot = Plot((min(xs), max(xs)), (ticks(min(ys), max(ys))[0], ticks(min(ys), max(ys))[-1]))
    plot.curve(points, 0)
    plot.name_x([(x, label) for x in xs])
    drawn = plot.draw("caption", "told")
    path = re.search(r' d="([^"]*)"', drawn)[1]
    places = [tuple(map(float, pair.split(","))) for pair in re.split("[ML]", path)[1:]]
    assert len(places) == len(points)
    assert all(0 <= x <= WIDTH and -1 <= y <= HEIGHT for x, y in places)


def test_labels_do_not_run_into_each_other():
    plot = Plot((0.0, 1.0), (0.0, 1.0))
    plot.name_x([(k / 20, f"label {k}") for k in range(21)])
    written = re.findall(r'x="([\d.]+)" y="180" text-anchor="middle">([^<]*)<', plot.draw("", ""))
    at = sorted((float(x), text) for x, text in written)
    assert (at[0][1], at[-1][1]) == ("label 0", "label 20")
    assert all(b[0] - a[0] > 6 * 8 for a, b in pairwise(at))


def test_bars_and_meters_are_shares_of_the_whole():
    assert "width:50.00%" in meter(0.5)
    assert "width:100.00%" in meter(7.0)
    assert "width:0.00%" in meter(-1.0)
    drawn = bars({"a": 0.5, "b": 0.25})
    assert re.findall(r"width:([\d.]+)%", drawn) == ["100.00", "50.00"]
    assert "width:" in bars({"a": 0.0})
    assert "73.2%" in scale(0.46, "73.2%", ("none", "all"))


@given(st.text())
@settings(max_examples=60)
def test_texts_are_escaped_and_markup_is_not(text):
    inner = tag("p", text, title=text)
    assert isinstance(inner, Html)
    assert inner.count("<") == inner.count(">") == 2
    assert safe(inner) is inner


def test_numbers_are_for_readers():
    assert number(float("inf")) == "infinite"
    assert number(-0.25) == "−0.25"
    assert number(float("nan")) == "unknown"
    assert number(1e-12) == "1e-12"
    assert compact(-2_500_000) == "−2.5M"


@given(st.floats(0, 1))
@settings(max_examples=60)
def test_bounds_are_rounded_to_the_safe_side(share):
    assert float(percent(share)[:-1]) >= 100 * share - 1e-6
    assert float(percent(share, up=False)[:-1]) <= 100 * share + 1e-6
