"""The picture on the front page: every method in a way of its own."""

from pathlib import Path

from benchmarks import front_picture
from benchmarks.accuracy import report


def test_the_front_picture_shows_each_method_in_a_way_of_its_own(tmp_path: Path) -> None:
    looks = front_picture.DRAWN.values()
    n_looks = len(looks)
    assert {"dpforest", "DP-EBM tuned", "diffprivlib"} <= {*front_picture.DRAWN} & {*report.COLUMNS}
    assert len({look.colour for look in looks}) == len({look.dashes for look in looks}) == n_looks
    front_picture.draw(tmp_path / "front.svg")
    assert "<svg" in (tmp_path / "front.svg").read_text(encoding="utf-8")
