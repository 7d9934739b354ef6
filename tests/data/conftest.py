"""How the tests of this room run: without a network, and on the real files only where a folder of data is named."""

import os
from pathlib import Path

import pooch
import pytest

REAL_HOME = os.environ.get("WEFT_DATA_HOME")


@pytest.fixture(autouse=True)
def offline(monkeypatch, tmp_path):
    """Give every test an empty cache, no folder of data, and no network; return the cache."""

    def retrieve(url, **_):
        raise OSError(f"no network in tests: {url}")

    cache = tmp_path / "cache"
    monkeypatch.delenv("WEFT_DATA_HOME", raising=False)
    monkeypatch.setattr(pooch, "os_cache", lambda project: cache / project)
    monkeypatch.setattr(pooch, "retrieve", retrieve)
    return cache / "weft"


@pytest.fixture
def real_home(offline, monkeypatch):
    """Let the loaders find the real files, or skip the test."""
    if not REAL_HOME:
        pytest.skip("needs the real files: set WEFT_DATA_HOME to the folder that has them")
    monkeypatch.setenv("WEFT_DATA_HOME", REAL_HOME)
    return Path(REAL_HOME)


@pytest.fixture
def home(offline, monkeypatch, tmp_path):
    """An empty folder of data."""
    folder = tmp_path / "home"
    folder.mkdir()
    monkeypatch.setenv("WEFT_DATA_HOME", str(folder))
    return folder


class Web(dict):
    """Files by their address; ``asked`` lists what was asked for."""

    def __init__(self):
        super().__init__()
        self.asked = []


@pytest.fixture
def web(monkeypatch):
    """A network that serves the files that are put into it."""
    served = Web()

    def retrieve(url, known_hash, fname, path):
        served.asked.append(url)
        if url not in served:
            raise OSError("404 Not Found")
        path.mkdir(parents=True, exist_ok=True)
        file = path / fname
        file.write_bytes(served[url])
        if known_hash is not None and not pooch.hashes.hash_matches(str(file), known_hash):
            file.unlink()
            raise ValueError(f"hash of downloaded file ({fname}) does not match the known hash: expected {known_hash}")
        return str(file)

    monkeypatch.setattr(pooch, "retrieve", retrieve)
    return served
