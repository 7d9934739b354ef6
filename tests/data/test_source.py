"""How published arrays are found, downloaded and checked, with small files and no network."""

import gzip
import io
import os
import struct

import numpy as np
import pytest

from weft.data._source import PublishedArray, digest, read_amat, read_idx, read_npz, read_text

ARRAY = np.arange(2 * 28 * 28, dtype=np.uint8).reshape(2, 28, 28)
URL = "https://example.org/digits/digits.gz"


def idx(array):
    head = struct.pack(f">BBBB{array.ndim}I", 0, 0, 8, array.ndim, *array.shape)
    return gzip.compress(head + array.tobytes(), mtime=0)


def npz(**arrays):
    file = io.BytesIO()
    np.savez(file, **arrays)
    return file.getvalue()


def source(**changes):
    readers = {"digits.gz": read_idx, "digits.npz": read_npz("digits")}
    values = {"what": "the digits", "folder": "small", "readers": readers, "url": URL, "sha256": digest(ARRAY)}
    return PublishedArray(**{**values, **changes})


def put(folder, name, data):
    file = folder / "small" / name
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_bytes(data)
    return file


# Where it is found


def test_the_folder_of_data_comes_first(home, offline, web):
    put(home, "digits.npz", npz(digits=ARRAY))
    put(offline, "digits.gz", b"not looked at")
    assert np.array_equal(source().load(), ARRAY)
    assert web.asked == []


@pytest.mark.parametrize("container", ["digits.gz", "digits.npz"])
def test_the_container_does_not_matter(home, container):
    put(home, container, idx(ARRAY) if container == "digits.gz" else npz(digits=ARRAY, other=1))
    assert np.array_equal(source().load(), ARRAY)


def test_the_cache_comes_next(home, offline, web):
    put(offline, "digits.gz", idx(ARRAY))
    assert np.array_equal(source().load(), ARRAY)
    assert web.asked == []


def test_else_it_is_downloaded_once(offline, web):
    web[URL] = idx(ARRAY)
    for _ in range(2):
        assert np.array_equal(source().load(), ARRAY)
    assert web.asked == [URL]
    assert (offline / "small" / "digits.gz").is_file()


def test_a_download_does_not_go_to_the_folder_of_data(home, web):
    web[URL] = idx(ARRAY)
    source().load()
    assert list(home.iterdir()) == []


# What can go wrong


def test_no_network_says_what_to_do(offline):
    with pytest.raises(FileNotFoundError) as caught:
        source().load()
    for part in ("the digits", "digits.gz or digits.npz", URL, str(offline / "small"), "WEFT_DATA_HOME", "no network"):
        assert part in str(caught.value)


def test_a_published_checksum_of_the_file_is_held(offline, web):
    web[URL] = idx(ARRAY)
    with pytest.raises(FileNotFoundError, match=r"digits\.gz\) does not match the known hash: expected md5:00"):
        source(archive="md5:00").load()


def test_a_page_instead_of_a_file_is_not_kept(offline, web):
    web[URL] = b"<html>This page has moved</html>"
    with pytest.raises(ValueError, match=r"digits\.gz cannot be read as the digits .*downloaded from .*deleted again"):
        source().load()
    assert list((offline / "small").iterdir()) == []
    web[URL] = idx(ARRAY)
    assert np.array_equal(source().load(), ARRAY)


def test_other_contents_are_not_kept(offline, web):
    web[URL] = idx(ARRAY + 1)
    with pytest.raises(ValueError, match=f"digits.gz .* is {digest(ARRAY + 1)}, expected {digest(ARRAY)}.*deleted"):
        source().load()
    assert list((offline / "small").iterdir()) == []


def test_other_contents_on_this_machine_are_named_and_kept(home):
    file = put(home, "digits.gz", idx(ARRAY + 1))
    with pytest.raises(ValueError, match=f"is {digest(ARRAY + 1)}, expected {digest(ARRAY)}; put the right") as caught:
        source().load()
    assert str(file) in str(caught.value)
    assert file.is_file()


BROKEN = {
    "empty": ("digits.gz", b""),
    "cut": ("digits.gz", idx(ARRAY)[:-30]),
    "not gzipped": ("digits.gz", b"\0\0\x08\1\0\0\0\1a"),
    "not IDX": ("digits.gz", gzip.compress(b"hello, this is text")),
    "IDX of floats": ("digits.gz", gzip.compress(b"\0\0\x0d\1\0\0\0\1aaaa")),
    "IDX, no size": ("digits.gz", gzip.compress(b"\0\0\x08\3\0\0")),
    "IDX, too short": ("digits.gz", gzip.compress(b"\0\0\x08\1\0\0\0\5aa")),
    "no archive": ("digits.npz", b"hello"),
    "archive, cut": ("digits.npz", npz(digits=ARRAY)[:-30]),
    "archive of other arrays": ("digits.npz", npz(other=ARRAY)),
    "archive of objects": ("digits.npz", npz(digits=np.array([None, {}], dtype=object))),
}


@pytest.mark.parametrize("case", BROKEN)
def test_broken_files_are_named(home, case):
    name, data = BROKEN[case]
    file = put(home, name, data)
    with pytest.raises(ValueError, match="cannot be read as the digits") as caught:
        source().load()
    assert str(file) in str(caught.value)


def test_a_folder_of_data_that_is_not_there_is_no_silent_download(monkeypatch, tmp_path, web):
    web[URL] = idx(ARRAY)
    monkeypatch.setenv("WEFT_DATA_HOME", str(tmp_path / "typo"))
    with pytest.raises(ValueError, match=r"the environment variable WEFT_DATA_HOME is .*typo', expected a folder"):
        source().load()
    monkeypatch.setenv("WEFT_DATA_HOME", "")
    assert np.array_equal(source().load(), ARRAY)


# Readers


def test_a_digest_is_of_the_numbers_alone():
    numbers = np.arange(12, dtype="<f8").reshape(3, 4)
    assert digest(numbers) == digest(numbers.astype(">f8")) == digest(np.asfortranarray(numbers))
    assert digest(numbers) != digest(numbers[::-1])


def test_texts_of_digits(tmp_path):
    digits = np.random.default_rng(0).integers(2, size=(5, 784), dtype=np.uint8)
    for newline, last in (("\n", "\n"), (" \n", ""), ("\r\n", "\r\n")):
        file = tmp_path / "digits.amat"
        file.write_bytes((newline.join(" ".join(map(str, row)) for row in digits) + last).encode())
        assert np.array_equal(read_amat(file), digits)
    file.write_text("0 1 1\n")
    with pytest.raises(ValueError, match="reshape"):
        read_amat(file)


def test_tables_are_read_to_the_last_digit(tmp_path):
    file = tmp_path / "table.csv"
    file.write_text("a,b,word\n0.1,26.400,x\n1e-3,7,y\n")
    assert read_text(2, ",")(file).tolist() == [[0.1, 26.4], [1e-3, 7.0]]


def test_a_file_that_may_not_be_read(home):
    file = put(home, "digits.gz", idx(ARRAY))
    file.chmod(0)
    if os.access(file, os.R_OK):
        pytest.skip("this user may read every file")
    with pytest.raises(ValueError, match=r"cannot be read as the digits .*Permission"):
        source().load()
