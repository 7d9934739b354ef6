"""Every Python block of the README and of the documentation is run, and the files that pages name exist."""

import doctest
import importlib
import pkgutil
import re
import textwrap
import tomllib
import traceback
import warnings
from dataclasses import dataclass
from pathlib import Path
from unittest import mock

import matplotlib.pyplot as plt
import pytest

import weft
from weft.masks import FACTORIZERS

ROOT = Path(__file__).parents[1]
PAGES = sorted([*ROOT.glob("*.md"), *ROOT.glob("docs/**/*.md")])
FENCE = re.compile(r"^[ \t>]*(?P<ticks>`{3,}|~{3,})[ \t]*(?P<info>[^`\n]*)$")
PYTHON = re.compile(r"[{.\s]*(python\d?|py\d?|pycon|ipython\d?|python-console)\b", re.IGNORECASE)


@dataclass(frozen=True)
class Block:
    """A fenced block: the line of its first character, its language as written, and its text."""

    line: int
    language: str
    text: str

    @property
    def is_run(self):
        return self.language in ("python", "pycon")


def blocks_of(text):
    """Find the fenced blocks of a page; a longer fence hides those inside it."""
    found, opening, body = [], None, []
    for number, line in enumerate(text.splitlines(), start=1):
        fence = FENCE.match(line)
        if opening is None and fence:
            opening, start, body = fence, number + 1, []
        elif opening is not None and fence and not fence["info"] and fence["ticks"].startswith(opening["ticks"]):
            found.append(Block(start, opening["info"].strip(), textwrap.dedent("\n".join(body)) + "\n"))
            opening = None
        elif opening is not None:
            body.append(line)
    return found


def blocks_on(page):
    return blocks_of(page.read_text(encoding="utf-8"))


def name_of(page):
    return str(page.relative_to(ROOT))


def run(block, name, namespace):
    """Run a ``python`` block as a script and a ``pycon`` block as a doctest; a failure names the page and the line."""
    if block.language == "pycon":
        test = doctest.DocTestParser().get_doctest(block.text, namespace, name, name, block.line - 1)
        runner = doctest.DocTestRunner(optionflags=doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE)
        report = []
        runner.run(test, out=report.append, clear_globs=False)
        namespace.update(test.globs)
        if report:
            pytest.fail("".join(report), pytrace=False)
        return
    try:
        exec(compile("\n" * (block.line - 1) + block.text, name, "exec"), namespace)
    except Exception as error:
        lines = [frame.lineno for frame in traceback.extract_tb(error.__traceback__) if frame.filename == name]
        line = lines[-1] if lines else getattr(error, "lineno", None) or block.line
        pytest.fail(f"{name}:{line}: {type(error).__name__}: {error}", pytrace=False)


@pytest.mark.parametrize("page", [page for page in PAGES if any(b.is_run for b in blocks_on(page))], ids=name_of)
def test_blocks_run(page, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    plt.switch_backend("Agg")
    namespace = {"__name__": "__main__"}
    with mock.patch.dict(FACTORIZERS), warnings.catch_warnings():
        warnings.simplefilter("error")
        for block in blocks_on(page):
            if block.is_run:
                run(block, name_of(page), namespace)
    plt.close("all")


@pytest.mark.parametrize("page", PAGES, ids=name_of)
def test_no_python_block_escapes(page):
    missed = [
        f"{name_of(page)}:{block.line}: {block.language}"
        for block in blocks_on(page)
        if not block.is_run and (PYTHON.match(block.language) or ">>> " in block.text or "import weft" in block.text)
    ]
    assert missed == [], "only ```python and ```pycon blocks are run"


@pytest.mark.parametrize("page", PAGES, ids=name_of)
def test_files_named_exist(page):
    text = page.read_text(encoding="utf-8")
    links = re.findall(r"\]\((?!https?:|#|mailto:)([^)#\s]+)", text)
    missing = [link for link in links if not (page.parent / link).exists()]
    paths = re.findall(r"[`\"]((?:tests|examples|src|docs|benchmarks|results)/[\w./-]+)", text)
    missing += [path for path in paths if not (ROOT / path).exists()]
    assert missing == []


def test_every_page_is_in_the_menu():
    menu = (ROOT / "mkdocs.yml").read_text(encoding="utf-8")
    pages = [page.relative_to(ROOT / "docs") for page in ROOT.glob("docs/**/*.md")]
    assert [str(page) for page in pages if f": {page}\n" not in menu] == []


def test_every_public_name_is_in_the_reference():
    reference = {line for page in ROOT.glob("docs/api/*.md") for line in page.read_text(encoding="utf-8").splitlines()}
    rooms = [name for _, name, is_package in pkgutil.iter_modules(weft.__path__, "weft.") if is_package]
    assert "weft.paper" in rooms  # also those that `import weft` does not import
    missing = [
        f"{room}.{name}"
        for room in rooms
        for name in importlib.import_module(room).__all__
        if not reference & {f"::: {room}.{name}", f"::: weft.{name}"}
    ]
    assert missing == []


def test_changelog_has_a_section_for_what_is_not_released():
    assert "\n## [Unreleased]\n" in (ROOT / "CHANGELOG.md").read_text(encoding="utf-8")


def test_versions_agree():
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]["version"]
    citation = re.search(r"^version: (\S+)$", (ROOT / "CITATION.cff").read_text(encoding="utf-8"), re.MULTILINE)
    assert weft.__version__ == project == citation[1]


# A page that is wrong must fail, with its place: the runner itself.


def test_an_error_names_file_and_line():
    [block] = blocks_of("text\n\n```python\nx = 1\n1 / 0\n```\n")
    with pytest.raises(pytest.fail.Exception, match=r"page\.md:5: ZeroDivisionError"):
        run(block, "page.md", {})


def test_a_wrong_output_names_file_and_line():
    [block] = blocks_of("```pycon\n>>> 1 + 1\n3\n```\n")
    with pytest.raises(pytest.fail.Exception, match=r'(?s)"page\.md", line 2.*Got:\s+2'):
        run(block, "page.md", {})


def test_blocks_share_what_they_define():
    page = "```python\nx = 1\n```\n\n```pycon\n>>> y = x + 1\n```\n\n  ```python\n  z = y + 1\n  ```\n"
    namespace = {}
    for block in blocks_of(page):
        run(block, "page.md", namespace)
    assert namespace["z"] == 3


def test_a_fence_in_a_longer_fence_is_text():
    assert [block.language for block in blocks_of("````md\n```python\n1 / 0\n```\n````\n")] == ["md"]
