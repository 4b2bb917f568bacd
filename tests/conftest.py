"""Settings of all tests: the same examples in every run, no timing, no network.

A test that needs the papers' tables is marked ``needs_tables`` and skips where ``DPFOREST_DATA``
names no folder that holds them.
"""

import os
import socket
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import settings

from dpforest import CategoricalFeature, NumericFeature, Schema, Target

settings.register_profile("repeatable", derandomize=True, deadline=None)
settings.load_profile("repeatable")

CONNECT, RESOLVE = socket.socket.connect, socket.getaddrinfo
THIS_MACHINE = (None, "", "localhost", "127.0.0.1", "::1")


def _refuse(*_: Any, **__: Any) -> None:
    # pytest's own failure is no Exception: code that falls back on errors cannot swallow it.
    pytest.fail("tests open no connection: put a stand-in where the code would download")


def _connect(self: socket.socket, address: Any) -> None:
    """Local processes may talk to each other (Unix sockets have names); nothing else may."""
    CONNECT(self, address) if isinstance(address, str | bytes) else _refuse()


def pytest_configure() -> None:
    """Close the network for the whole run, doctests included."""
    socket.getaddrinfo = _refuse
    socket.socket.connect = _connect


@pytest.fixture(scope="module")
def this_machine() -> Any:
    """For tests that start an engine: its processes on this machine can be reached, no others."""

    # An engine's own threads would die of pytest's failure without a word, and the test would hang.
    def connect(self: socket.socket, address: Any) -> None:
        if not isinstance(address, str | bytes) and address[0] not in THIS_MACHINE:
            raise ConnectionRefusedError("tests reach this machine only")
        CONNECT(self, address)

    def resolve(host: Any, *others: Any, **options: Any) -> Any:
        if host not in THIS_MACHINE:
            raise socket.gaierror("tests reach this machine only")
        return RESOLVE(host, *others, **options)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(socket.socket, "connect", connect)
        patch.setattr(socket, "getaddrinfo", resolve)
        yield


def pytest_runtest_setup(item: pytest.Item) -> None:
    """Skip what needs the papers' tables where they are not."""
    folder = os.environ.get("DPFOREST_DATA")
    there = bool(folder) and (Path(folder) / "datasets.json").is_file()
    if item.get_closest_marker("needs_tables") and not there:
        pytest.skip("needs the papers' tables: set DPFOREST_DATA to a folder that holds them")


@pytest.fixture(scope="session")
def numbers() -> tuple[Any, Any, Schema]:
    """Records with three numbers, a target that follows from two of them, and their schema."""
    X = np.random.default_rng(0).random((4_000, 3))
    schema = Schema(tuple(NumericFeature(f"x{j}", 0, 1) for j in range(3)), Target(low=-1, high=3))
    return X, 2 * X[:, 0] + (X[:, 1] > 0.5), schema


@pytest.fixture(scope="session")
def gaps() -> tuple[Any, Any, Schema]:
    """Records with missing numbers and a category that their schema does not list."""
    rng = np.random.default_rng(0)
    X = pd.DataFrame({"a": rng.random(900), "b": rng.choice(["u", "v", "w"], 900)})
    y = (X.a > 0.5).astype(int)
    X.loc[::7, "a"] = np.nan
    features = NumericFeature("a", 0, 1), CategoricalFeature("b", ("u", "v"))
    return X, y, Schema(features, Target(classes=(0, 1)))
