"""What the package promises as a whole: its names, its types, and what importing it costs."""

import ast
import importlib
import pkgutil
import subprocess
import sys
from importlib.metadata import version
from importlib.resources import files
from pathlib import Path

import pytest

import weft

PACKAGE = Path(weft.__file__).parent
SOURCES = sorted(PACKAGE.rglob("*.py"))
ROOMS = sorted(name for _, name, is_package in pkgutil.iter_modules(weft.__path__, "weft.") if is_package)
MODULES = sorted(module.name for module in pkgutil.walk_packages(weft.__path__, "weft."))


def output_of(code):
    return subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout.split()


def test_the_rooms_are_found():
    assert {"weft.graph", "weft.masks", "weft.nn", "weft.paper"} <= set(ROOMS)
    assert len(SOURCES) == len(MODULES) + 1


@pytest.mark.parametrize("name", ["weft", *MODULES])
def test_every_module_says_what_is_public(name):
    module = importlib.import_module(name)
    assert module.__doc__
    assert len(set(module.__all__)) == len(module.__all__)
    assert [public for public in module.__all__ if not hasattr(module, public)] == []


def test_version_is_that_of_the_distribution():
    assert weft.__version__ == version("weft")


def test_types_are_shipped():
    assert files("weft").joinpath("py.typed").is_file()


def test_import_is_lean():
    heavy = "{'matplotlib', 'sklearn'}"  # pandas holds the history of every fit
    assert output_of(f"import sys, weft; print(*sorted({heavy} & sys.modules.keys()))") == []


def test_graphs_and_masks_work_without_torch():
    code = f"""
import sys, types
sys.modules["torch"] = None  # importing it fails
sys.modules["weft"] = types.ModuleType("weft")  # whose own __init__ imports every room
sys.modules["weft"].__path__ = [{str(PACKAGE)!r}]
from weft.graph import chain
from weft.masks import factorize
print(len(factorize(chain(4), widths=(6,)).lost))
"""
    assert output_of(code) == ["0"]


@pytest.mark.parametrize("path", SOURCES, ids=lambda path: str(path.relative_to(PACKAGE)))
def test_no_assert_in_the_library(path):
    tree = ast.parse(path.read_text(encoding="utf-8"))
    lines = [node.lineno for node in ast.walk(tree) if isinstance(node, ast.Assert)]
    assert lines == [], f"{path}: python -O removes `assert`; raise an error instead"
