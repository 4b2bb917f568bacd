"""Separators and encodings follow from the header line alone, or from what was asked for."""

import gzip

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dpforest.cli import csv_layout, tables
from dpforest.cli.csv_layout import SEPARATORS, Asked, layout_of, odd_line, separator_of
from dpforest.datasets import frames

ROWS = [["1", "süd"], ["2", "a,b;c|d\te"], ["", "nörd"]]


def text_of(separator, names=("a", "b")):
    lines = [list(names), *ROWS]
    return "\n".join(separator.join(f'"{c}"' if c else "" for c in row) for row in lines) + "\n"


def cells(path, asked=None):
    table = tables.read_table(path, ["a", "b"], asked or Asked())
    return [["" if v is None else v for v in table.values(name)] for name in ("a", "b")]


EXPECTED = [list(column) for column in zip(*ROWS, strict=True)]


@pytest.mark.parametrize("backend", ["pandas", "polars", "pyarrow", None])
@pytest.mark.parametrize("separator", SEPARATORS)
@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "utf-16", "cp1252"])
@pytest.mark.parametrize("gzipped", [False, True])
def test_all_readers_read_all_layouts_alike(
    tmp_path, monkeypatch, backend, separator, encoding, gzipped
):
    monkeypatch.setattr(frames, "BACKENDS", () if backend is None else (backend,))
    path = tmp_path / ("t.csv.gz" if gzipped else "t.csv")
    written = text_of(separator).encode(encoding)
    path.write_bytes(gzip.compress(written) if gzipped else written)
    asked = Asked(encoding="cp1252") if encoding == "cp1252" else Asked()
    assert cells(path, asked) == EXPECTED


@given(
    st.lists(st.text(st.characters(codec="latin-1", exclude_characters='"\r\n'), min_size=1),
             min_size=2, max_size=5),
    st.sampled_from(SEPARATORS),
    st.binary(max_size=60),
)  # fmt: skip
@settings(max_examples=60)
def test_records_have_no_say(tmp_path_factory, names, separator, records):
    header = separator.join(f'"{name}"' for name in names).encode()
    path = tmp_path_factory.mktemp("layout") / "t.csv"
    found = []
    for rest in (b"", b"1;2,3|4\n" * 3, records.replace(b"\n", b"").replace(b"\r", b"") + b"\n"):
        path.write_bytes(header + b"\n" + rest)
        try:
            layout = layout_of(path, Asked())
        except UnicodeDecodeError:  # the file is refused, whatever its layout
            continue
        found.append((layout.separator, layout.encoding, layout.header))
    assert len(set(found)) == 1
    assert found[0] == (separator, "utf-8", tuple(names))


BACKENDS = ["pandas", "polars", "pyarrow", None]
LINES = ['"a b","x,y"', "plain,1", '"5"" pipe",""', ",2", '"""",""""""']


def written(path, lines, end="\n"):
    path.write_bytes(end.join(["a,b", *lines, ""]).encode())
    return path


@pytest.mark.parametrize("backend", BACKENDS)
@given(
    st.lists(st.sampled_from(LINES), min_size=1, max_size=6),
    st.integers(0, 6),
    st.text(st.sampled_from('",ab\n\r '), max_size=8),
)
@settings(max_examples=60, deadline=None)
def test_a_line_changes_no_other_record(tmp_path_factory, backend, lines, place, odd):
    """Whatever one line is: the file is refused, or all other records are read as without it."""
    folder = tmp_path_factory.mktemp("lines")
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(frames, "BACKENDS", () if backend is None else (backend,))
        alone = list(zip(*cells(written(folder / "t.csv", lines)), strict=True))
        assert len(alone) == len(lines)
        try:
            found = cells(written(folder / "u.csv", [*lines[:place], odd, *lines[place:]]))
        except ValueError:
            return
    rows = list(zip(*found, strict=True))
    after = len(lines) - min(place, len(lines))
    assert rows[: len(lines) - after] == alone[: len(lines) - after]
    assert rows[len(rows) - after :] == alone[len(lines) - after :]


ODD = {
    "a cell goes on on the next line": ['"a', 'b",1'],
    "a quote does not end": ['"oops,1'],
    "a quote begins within a cell": ['5" pipe,1'],
    "two quotes begin and end in other cells": ['5" pipe,6" pipe'],
    "a quote ends within a cell": ['"a"b,1'],
    "a space before a quote": [' "a",1'],
}


@pytest.mark.parametrize("piece", [1, 7, 1 << 24])
@pytest.mark.parametrize("end", ["\n", "\r\n", "\r"])
@pytest.mark.parametrize("what", ODD)
def test_odd_quotes_are_refused_by_the_number_of_their_line(
    tmp_path, monkeypatch, what, end, piece
):
    monkeypatch.setattr(csv_layout, "PIECE", piece)
    path = written(tmp_path / "t.csv", [*LINES, *ODD[what], *LINES], end)
    with pytest.raises(ValueError, match=f"line {len(LINES) + 2}: its quotes") as caught:
        tables.read_table(path, ["a", "b"])
    assert "oops" not in str(caught.value)
    assert "pipe" not in str(caught.value)
    fine = written(tmp_path / "fine.csv", LINES * 3, end)
    assert odd_line(fine, layout_of(fine, Asked())) is None


@pytest.mark.parametrize("separator", [";", "§", "\t"])
@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "utf-16"])
def test_quotes_are_around_cells_with_any_separator(tmp_path, separator, encoding):
    path = tmp_path / "t.csv"
    asked = Asked(separator, encoding)
    for line, odd in (('"a"|"b"', None), ('"|"|""', None), ('a,"b"|c', 2), ('"a",|c', 2)):
        text = f'"a"|"b"\n{line}'.replace("|", separator)
        path.write_bytes(text.encode(encoding))
        assert odd_line(path, layout_of(path, asked)) == odd


def test_a_header_of_several_lines_is_refused(tmp_path):
    path = tmp_path / "t.csv"
    path.write_text('"a\nb",c\n1,2\n', encoding="utf-8")
    with pytest.raises(ValueError, match="line 1: its quotes"):
        tables.read_table(path, ["c"])


def test_quotes_hide_separators_and_commas_win_ties():
    assert separator_of('"a;b;c","d"') == ","
    assert separator_of("a;b,c") == ","
    assert separator_of("alone") == ","
    assert separator_of("a\tb c") == "\t"


@pytest.mark.parametrize(
    ("asked", "message"),
    [
        ({"separator": "::"}, "one character"),
        ({"separator": '"'}, "one character"),
        ({"encoding": "klingon"}, "is not known"),
    ],
)
def test_odd_wishes_are_refused(asked, message):
    with pytest.raises(ValueError, match=message):
        Asked(**asked)


def test_wishes_are_followed(tmp_path):
    (tmp_path / "t.csv").write_bytes(b"a:b;c\n1:x\n")
    assert layout_of(tmp_path / "t.csv", Asked(":")).header == ("a", "b;c")
    assert Asked("tab").separator == Asked("\\t").separator == "\t"


def test_parquet_has_neither(tmp_path):
    import pandas as pd

    pd.DataFrame({"a": [1]}).to_parquet(tmp_path / "t.parquet")
    with pytest.raises(ValueError, match="are for CSV"):
        tables.read_table(tmp_path / "t.parquet", ["a"], Asked(";"))


def test_without_the_encoding_the_error_asks_for_it(tmp_path):
    (tmp_path / "t.csv").write_bytes(text_of(",").encode("cp1252"))
    with pytest.raises(ValueError, match="--encoding"):
        cells(tmp_path / "t.csv")


def test_values_are_as_in_the_file(tmp_path):
    import pandas as pd

    ids = pd.array([2**53 + 1, None], dtype="Int64")
    pd.DataFrame({"id": ids}).to_parquet(tmp_path / "t.parquet")
    assert tables.read_table(tmp_path / "t.parquet", ["id"]).values("id") == [2**53 + 1, None]
    plain = tables.InputTable(tmp_path, {"id": np.array(["1", None], dtype=object)})
    assert plain.values("id") == ["1", None]
