"""How all tests run."""

import pytest
import torch


@pytest.fixture(autouse=True, scope="session")
def one_thread():
    """The tensors are small: several threads would only wait for each other."""
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(before)
