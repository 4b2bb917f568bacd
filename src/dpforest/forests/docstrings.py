"""Shared parameters are described once; `help` and the reference show them with every estimator."""

import inspect
import re

_ENTRY = re.compile(r"^(\w+) : .*\n(?:    .*\n)+", re.MULTILINE)


def spelled_out(doc: str, base: str, base_doc: str) -> str:
    r"""A docstring in which "As in `base`." gives way to what the docstring of the base says.

    Examples
    --------
    >>> base_doc = "A base.\n\na : int\n    A number.\nb : str\n    A text."
    >>> print(spelled_out("Another.\n\na, b\n    As in `Base`.", "Base", base_doc))
    Another.
    <BLANKLINE>
    a : int
        A number.
    b : str
        A text.
    """
    entries = {found[1]: found[0] for found in _ENTRY.finditer(inspect.cleandoc(base_doc) + "\n")}
    return re.sub(
        rf"^([\w, ]+)\n    As in `{base}`\.$",
        lambda names: "".join(entries[name] for name in re.findall(r"\w+", names[1])).rstrip(),
        inspect.cleandoc(doc),
        flags=re.MULTILINE,
    )
