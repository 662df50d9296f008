"""The backend for `torch.compile`."""

import magneton_ir as mir
import pytest
import torch
from torch import nn


@pytest.fixture(autouse=True)
def fresh_dynamo():
    torch._dynamo.reset()
    yield
    torch._dynamo.reset()


def regions(folder):
    return sorted(path.name for path in folder.glob("region-*.pt2"))


def test_one_file_for_each_region(tmp_path):
    layer = nn.Linear(8, 8)

    def code(x):
        y = torch.relu(layer(x))
        torch._dynamo.graph_break()
        return y * 2

    x = torch.randn(4, 8)
    compiled = torch.compile(code, backend=mir.backend(tmp_path / "out"))
    with torch.no_grad():
        assert torch.allclose(compiled(x), code(x))
    assert regions(tmp_path / "out") == ["region-000.pt2", "region-001.pt2"]
    first, second = (tmp_path / "out" / name for name in regions(tmp_path / "out"))
    assert mir.check(first, first).tier == "exact"
    assert mir.check(second, lambda y: y + y, (x,)).equivalent
    result = mir.check(first, lambda x, w, b: torch.relu(x @ w.t() + b), (x, layer.weight, layer.bias))
    assert result.verdict == "equivalent"


def test_two_ways_to_write_a_model_are_compared_by_region(tmp_path):
    class Block(nn.Module):
        def __init__(self, fused):
            super().__init__()
            self.layer, self.fused = nn.Linear(16, 16), fused

        def forward(self, x):
            hidden = self.layer(x) if self.fused else x @ self.layer.weight.t() + self.layer.bias
            return x + torch.nn.functional.gelu(hidden)

    a, b = Block(True), Block(False)
    b.load_state_dict(a.state_dict())
    for name, model in (("a", a), ("b", b)):
        torch._dynamo.reset()
        torch.compile(model, backend=mir.backend(tmp_path / name))(torch.randn(4, 16))
    assert mir.check(tmp_path / "a" / "region-000.pt2", tmp_path / "b" / "region-000.pt2").equivalent


def test_gradients_flow_through_what_is_compiled(tmp_path):
    x = torch.randn(4, requires_grad=True)
    torch.compile(lambda x: (x * x).sum(), backend=mir.backend(tmp_path))(x).backward()
    assert torch.allclose(x.grad, 2 * x)


def test_what_cannot_be_written_is_listed_and_still_runs(tmp_path, monkeypatch):
    def refuse(*arguments):
        raise mir.Error("not today")

    monkeypatch.setattr("magneton_ir._dynamo.record", refuse)
    compiled = torch.compile(lambda x: x + 1, backend=mir.backend(tmp_path))
    assert torch.equal(compiled(torch.zeros(3)), torch.ones(3))
    assert "not today" in (tmp_path / "not-written.txt").read_text()
