"""What several tests use. The binary under test is the one that the package finds: see `MAGNETON_IR_BINARY`."""

import pytest
import torch


@pytest.fixture(autouse=True)
def same_weights_in_every_run():
    torch.manual_seed(0)


@pytest.fixture
def rules(tmp_path):
    """Writes a rule file."""

    def write(text):
        path = tmp_path / "own.rules"
        path.write_text(text)
        return path

    return write
