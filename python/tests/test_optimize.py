"""`optimize` gives a program that runs and computes the same."""

import magneton_ir as mir
import torch
import torch.nn.functional as F
from torch import nn


class Attention(nn.Module):
    """Attention in seven operators where one would do."""

    def __init__(self):
        super().__init__()
        self.qkv = nn.Linear(64, 192)

    def forward(self, x):
        q, k, v = self.qkv(x).view(2, 512, 3, 4, 16).permute(2, 0, 3, 1, 4)
        scores = F.softmax(q @ k.transpose(-1, -2) / 4.0, dim=-1)
        return (scores @ v).transpose(1, 2).reshape(2, 512, 64)


def test_the_program_that_comes_back_agrees_with_the_model():
    model, x = Attention().eval(), torch.randn(2, 512, 64)
    lean, findings = mir.optimize(model, (x,))
    with torch.no_grad():
        assert torch.allclose(lean.module()(x), model(x), atol=1e-5)
    (found,) = findings
    assert found.total_mj == found.saves_mj > 0 and "sdpa" in found.to and "softmax" in found.before
    assert "attention_scaled" in found.rules and "test_optimize.py" in found.source
    assert any("scaled_dot_product" in str(node.target) for node in lean.graph.nodes)
    assert "saves" in str(findings)
    # One copy of the weights.
    assert lean.state_dict["qkv.weight"] is model.qkv.weight
    assert mir.check(model, lean, (x,)).equivalent


class Chain(nn.Module):
    """Two layers without anything in between: their product can be computed once."""

    def __init__(self):
        super().__init__()
        self.first = nn.Linear(256, 1024, bias=False)
        self.second = nn.Linear(1024, 256, bias=False)

    def forward(self, x):
        return self.second(self.first(x))


def test_weights_are_multiplied_once_only_where_they_are_frozen():
    model, x = Chain().eval(), torch.randn(4096, 256)
    products = {}
    for frozen in (True, False):
        lean, _ = mir.optimize(model, (x,), frozen=frozen)
        products[frozen] = sum(str(node.target).split(".")[1:2] in (["mm"], ["matmul"], ["linear"]) for node in lean.graph.nodes)
        with torch.no_grad():
            assert torch.allclose(lean.module()(x), model(x), atol=1e-4)
    assert products == {True: 1, False: 2}
