"""Colours that can be read: WCAG's contrast, worked out from the style itself."""

import re

import pytest

from dpforest.report.page.styles import DARK, LIGHT, LINES, TEXT_ON, stylesheet


def luminance(colour):
    parts = [int(colour[i : i + 2], 16) / 255 for i in (1, 3, 5)]
    linear = [p / 12.92 if p <= 0.04045 else ((p + 0.055) / 1.055) ** 2.4 for p in parts]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]


def contrast(one, other):
    lighter, darker = sorted((luminance(one), luminance(other)), reverse=True)
    return (lighter + 0.05) / (darker + 0.05)


def test_contrast_is_that_of_the_standard():
    assert contrast("#000000", "#ffffff") == pytest.approx(21)
    assert contrast("#777777", "#ffffff") == pytest.approx(4.48, abs=0.01)  # fails AA by a hair


@pytest.mark.parametrize("colours", [LIGHT, DARK], ids=["light", "dark"])
def test_text_has_the_contrast_of_AA(colours):
    found = {(on, back): contrast(colours[on], colours[back]) for on, back in TEXT_ON}
    assert {pair: value for pair, value in found.items() if value < 4.5} == {}


@pytest.mark.parametrize("colours", [LIGHT, DARK], ids=["light", "dark"])
def test_lines_and_bars_have_the_contrast_of_AA(colours):
    found = {name: contrast(colours[name], colours["card"]) for name in LINES}
    assert {name: value for name, value in found.items() if value < 3} == {}
    assert contrast(colours["mark"], colours["track"]) >= 3


def test_every_colour_is_named_once_and_used():
    style = stylesheet()
    used = set(re.findall(r"var\(--([\w-]+)\)", style))
    assert used == set(LIGHT) == set(DARK)
    # Paper is white whatever the colours; all else goes by name.
    rules = style[style.index("*,*::before") :]
    assert set(re.findall(r"#[0-9a-fA-F]{3,8}\b", rules)) == {"#fff"}


def test_texts_stand_only_on_what_was_checked():
    style = stylesheet()
    text = {name for on, _ in TEXT_ON for name in (on,)}
    assert set(re.findall(r"(?<![\w-])(?:color|fill):var\(--([\w-]+)\)", style)) <= text | {
        "mark", "track",
    }  # fmt: skip
