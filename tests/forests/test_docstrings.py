"""What all estimators share is described once, and shown with each of them."""

import re

import pytest

from dpforest.audit import public_estimators
from dpforest.forests.docstrings import spelled_out

PUBLIC = public_estimators().values()


@pytest.mark.parametrize("kind", PUBLIC)
def test_every_parameter_is_described_and_no_other(kind):
    section = re.search(r"Parameters\n-+\n(.*?)\n\n", kind.__doc__, re.DOTALL)[1]
    headers = [line.split(" : ")[0] for line in section.splitlines() if line[0] != " "]
    described = [name for header in headers for name in re.findall(r"\w+", header)]
    assert sorted(described) == sorted(kind.declared_parameters)


@pytest.mark.parametrize("kind", PUBLIC)
def test_nothing_refers_to_a_base_that_users_do_not_see(kind):
    assert "PrivateEstimator" not in kind.__doc__


def test_a_name_that_the_base_does_not_describe_is_refused():
    with pytest.raises(KeyError, match="c"):
        spelled_out("One.\n\nc\n    As in `Base`.", "Base", "a : int\n    A number.")
