"""No test reaches the network, and what would download fails for that reason alone."""

import socket
from urllib.request import urlopen

import pytest

from dpforest import datasets

refused = pytest.raises(pytest.fail.Exception, match="tests open no connection")


@pytest.mark.parametrize("address", ["http://openml.org", "http://127.0.0.1:9"])
def test_no_address_is_opened(address):
    with refused:
        urlopen(address)


def test_no_socket_is_connected():
    with socket.socket() as line, refused:
        line.connect(("127.0.0.1", 9))


def test_loading_without_a_folder_downloads_nothing(monkeypatch, tmp_path):
    monkeypatch.delenv("DPFOREST_DATA", raising=False)
    monkeypatch.setenv("DPFOREST_CACHE", str(tmp_path))
    with refused:
        datasets.load("iris")
