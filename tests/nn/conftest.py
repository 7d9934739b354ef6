"""How the tests of this room run."""

import importlib
import warnings

import pytest
import torch


@pytest.fixture(autouse=True, scope="session")
def lazy_imports():
    """Forward-mode differentiation and compilation import modules of torch that use torch's own deprecated parts."""
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", message="`torch.jit.script", category=DeprecationWarning)
        importlib.import_module("torch._decomp.decompositions_for_jvp")
        torch.compiler.reset()
