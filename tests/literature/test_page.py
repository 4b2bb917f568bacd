"""docs/literature.md says what the recipes and the measured cells say."""

from benchmarks.literature import measure, page
from dpforest import literature


def test_the_page_is_in_step():
    written = page.PAGE.read_text(encoding="utf-8")
    assert written == page.render(), "python -m benchmarks.literature --write renews the page"


def test_every_system_has_a_row_in_every_table():
    rendered = page.render()
    for told in map(literature.describe, literature.names()):
        assert rendered.count(f"| `{told.name}` |") >= 2 + len(told.published)


def test_every_system_was_measured_on_every_table():
    measured = {(r.dataset, r.method, r.epsilon) for r in measure.read()}
    wanted = {
        (data, method, epsilon)
        for data in measure.DATA
        for method in measure.methods()
        for epsilon in measure.EPSILONS
    }
    assert wanted <= measured
