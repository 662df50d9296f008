"""Modules, functions, programs and files."""

import functools
import pathlib

import magneton_ir as mir
import pytest
import torch
from torch import nn
from torch._subclasses.fake_tensor import FakeTensorMode

PAIRS = pathlib.Path(__file__).parents[2] / "corpus" / "pairs"


class Block(nn.Module):
    """One feed-forward layer, written in one of two ways."""

    def __init__(self, fused=True, scale=1.0):
        super().__init__()
        self.up, self.down = nn.Linear(16, 64), nn.Linear(64, 16)
        self.fused, self.scale = fused, scale

    def forward(self, x, residual=None):
        hidden = self.up(x) if self.fused else x @ self.up.weight.t() + self.up.bias
        y = self.down(torch.relu(hidden)) * self.scale
        return y if residual is None else y + residual


def pair(**of_b):
    a, b = Block(), Block(**of_b)
    b.load_state_dict(a.state_dict())
    return a, b


def test_two_ways_to_write_a_layer_are_equivalent():
    result = mir.check(*pair(fused=False), args=(torch.randn(4, 16),))
    assert (result.verdict, result.tier, result.equivalent) == ("equivalent", "real", True)
    assert result.a.covered_ops == result.a.ops and result.a.file.endswith("a-Block.pt2")
    assert result.savings is result.best
    assert {op for region in result.regions for op in region.a_ops} >= {"linear", "relu", "linear_1"}
    assert result.witness is None and result.unproven == ()
    assert str(result).startswith("equivalent, tier real")
    # The files of the report are gone.
    assert "next:" not in str(result)


def test_a_result_is_no_truth_value():
    result = mir.check(*pair(), args=(torch.randn(4, 16),))
    with pytest.raises(TypeError, match="equivalent"):
        assert result


def test_a_difference_has_a_witness_and_names_the_lines():
    a, b = pair(scale=1.5)
    result = mir.check(a, b, args=(torch.randn(4, 16),))
    assert result.verdict == "different" and result.tier is None
    assert abs(result.witness.b - 1.5 * result.witness.a) < 1e-3 * abs(result.witness.a)
    with pytest.raises(AssertionError) as failure:
        mir.assert_equivalent(a, b, (torch.randn(4, 16),))
    text = str(failure.value)
    assert text.startswith("different") and "test_check.py" in text
    assert "y = self.down(torch.relu(hidden)) * self.scale" in text


def test_keyword_arguments_are_inputs():
    x = torch.randn(4, 16)
    assert mir.check(*pair(fused=False), args=(x,), kwargs={"residual": x}).equivalent
    one = Block()
    result = mir.check(one, lambda x, residual: one(x) - residual, (x,), {"residual": x})
    assert result.verdict == "different"


def test_functions_are_checked_with_their_lines():
    def once(x):
        return torch.relu(x) * 2

    def thrice(x):
        tripled = torch.relu(x) * 3
        return tripled

    with pytest.raises(AssertionError, match=r"test_check\.py:\d+ tripled = torch\.relu\(x\) \* 3"):
        mir.assert_equivalent(once, thrice, (torch.zeros(3, 4),))
    twice = functools.partial(torch.mul, other=2)
    mir.assert_equivalent(once, lambda x: twice(torch.relu(x)), (torch.zeros(3, 4),))


def test_methods_and_closures_keep_the_names_of_weights():
    block = Block()
    x = torch.randn(4, 16)

    def applied(x):
        return block(x)

    result = mir.check(block, block.forward, (x, x))
    assert result.equivalent and not any("position" in text for text in result.assumptions)
    # Behind the variable's name; the values tell which is which.
    assert mir.check(block, applied, (x,)).equivalent


def test_programs_and_files_are_taken_as_they_are(tmp_path):
    a, b = pair(fused=False)
    x = torch.randn(4, 16)
    program = torch.export.export(a, (x,))
    assert mir.check(program, b, (x,)).equivalent
    path = tmp_path / "a.pt2"
    torch.export.save(program, path)
    assert mir.check(path, b, (x,)).equivalent
    assert mir.check(str(path), path).tier == "exact"
    result = mir.check(PAIRS / "addmm.a.mir", PAIRS / "addmm.b.mir")
    assert result.equivalent and "next: magneton-ir explain" in str(result)


def test_fake_and_meta_tensors_do():
    with torch.device("meta"):
        a, b = Block(), Block(fused=False)
    assert mir.check(a, b, args=(torch.randn(4, 16),)).equivalent
    with FakeTensorMode():
        a, b, x = Block(), Block(fused=False), torch.randn(4, 16)
    assert mir.check(a, b, args=(x,)).equivalent


def test_weights_of_other_values_are_no_equivalence():
    a, b = Block(), Block(fused=False)
    result = mir.check(a, b, args=(torch.randn(4, 16),))
    assert result.verdict == "unknown" and any("values" in text for text in result.assumptions)


class Wide(nn.Module):
    """A layer whose weight is too large to be written without need."""

    def __init__(self, other=False):
        super().__init__()
        self.layer = nn.Linear(1024, 1024)
        self.other = other

    def forward(self, x):
        return self.layer(x) if not self.other else x @ self.layer.weight.t() + self.layer.bias


def test_large_weights_are_compared_in_memory_and_not_written(tmp_path):
    a, b = Wide(), Wide(other=True)
    x = torch.randn(2, 1024)
    b.layer = a.layer
    result = mir.check(a, b, (x,), keep=tmp_path)
    assert result.equivalent and any("compared in memory" in text for text in result.assumptions)
    assert all(path.stat().st_size < 1 << 20 for path in tmp_path.glob("*.pt2"))
    b.layer = nn.Linear(1024, 1024)
    b.layer.load_state_dict(a.layer.state_dict())
    assert mir.check(a, b, (x,)).equivalent
    with torch.no_grad():
        b.layer.weight[17, 4] += 1
    result = mir.check(a, b, (x,))
    assert result.verdict == "unknown" and any("layer.weight" in text for text in result.assumptions)


def test_merged_weights_are_bound_by_values_or_by_a_binding():
    class Apart(nn.Module):
        def __init__(self):
            super().__init__()
            self.q, self.k = nn.Linear(16, 16, bias=False), nn.Linear(16, 16, bias=False)

        def forward(self, x):
            return self.q(x), self.k(x)

    class Merged(nn.Module):
        def __init__(self, of):
            super().__init__()
            self.qk = nn.Linear(16, 32, bias=False)
            self.qk.weight = nn.Parameter(torch.cat([of.q.weight, of.k.weight]).detach())

        def forward(self, x):
            return self.qk(x).split([16, 16], -1)

    a = Apart()
    x = torch.randn(4, 16)
    assert mir.check(a, Merged(a), (x,)).equivalent
    assert mir.check(a, Merged(a), (x,), bind={"qk.weight": "concat(q.weight, k.weight; dim=0)"}).equivalent
    assert not mir.check(a, Merged(a), (x,), bind={"qk.weight": "concat(k.weight, q.weight; dim=0)"}).equivalent


def test_open_sizes_are_checked_at_the_given_ones():
    sizes = {"x": {0: torch.export.Dim("batch", min=2)}, "residual": None}
    result = mir.check(*pair(fused=False), args=(torch.randn(4, 16),), kwargs={"residual": None}, dynamic_shapes=sizes)
    assert result.equivalent and any("[4, 16]" in text for text in result.assumptions)


@pytest.fixture
def tf32():
    torch.set_float32_matmul_precision("high")
    yield
    torch.set_float32_matmul_precision("highest")


def test_math_flags_of_the_process_are_told(tf32):
    x = torch.randn(4, 16)
    result = mir.check(*pair(), args=(x,))
    assert result.a.flags == ("allow_tf32=true",) and result.environment["a"]["cuda.matmul.allow_tf32"] is True
    result = mir.check(*pair(), args=(x,), config_a={"allow_tf32": False}, tier="approx")
    assert result.a.flags == () and result.tier.startswith("approx")


def test_what_processes_had_set_differently_is_listed(tmp_path):
    x = torch.randn(4, 16)
    a, b = (mir.record(side, x) for side in pair())
    torch.backends.cudnn.benchmark = True
    try:
        fast = mir.record(pair()[1], x)
    finally:
        torch.backends.cudnn.benchmark = False
    assert mir.check(a, b).settings == ()
    result = mir.check(a, fast)
    assert result.settings == (mir.Setting("cudnn.benchmark", "false", "true"),)
    assert "set differently: cudnn.benchmark (false in A, true in B)" in str(result)
    # So it is with files, also years later.
    a.save(tmp_path / "a.pt2")
    fast.save(tmp_path / "fast.pt2")
    result = mir.check(tmp_path / "a.pt2", tmp_path / "fast.pt2")
    assert [s.name for s in result.settings] == ["cudnn.benchmark"]
    assert result.environment["b"]["cudnn.benchmark"] is True


def test_a_file_says_under_which_math_flags_it_was_written(tf32, tmp_path):
    mir.record(pair()[0], torch.randn(4, 16)).save(tmp_path / "a.pt2")
    torch.set_float32_matmul_precision("highest")
    assert mir.check(tmp_path / "a.pt2", tmp_path / "a.pt2").a.flags == ("allow_tf32=true",)


def test_no_grad_and_autocast_are_part_of_the_program():
    def half(x, w):
        with torch.autocast("cpu", dtype=torch.bfloat16):
            return x @ w

    def cast(x, w):
        with torch.no_grad():
            return x.bfloat16() @ w.bfloat16()

    x = torch.randn(8, 8)
    assert mir.check(half, cast, (x, x)).tier == "exact"

    def cast_late(x, w):
        return (x @ w).bfloat16()

    assert mir.check(half, cast_late, (x, x), tier="exact").verdict != "equivalent"
    # C functions do not say what they take: their arguments go by position.
    assert mir.check(lambda x, w: x @ w, torch.matmul, (x, x)).equivalent


def test_no_flags_are_told_where_all_are_as_they_come():
    assert mir.check(*pair(), args=(torch.randn(4, 16),)).a.flags == ()


def test_rules_of_your_own(rules):
    def squared(x):
        return torch.erf(torch.relu(x)) * torch.erf(torch.relu(x))

    def short(x):
        return torch.erf(x) * torch.erf(torch.relu(x))

    x = torch.randn(4, 16)
    result = mir.check(squared, short, (x,))
    assert result.verdict == "unknown" and result.unproven[0].agrees_numerically
    sides = "mul(erf(relu(x)), erf(relu(x))) => mul(erf(x), erf(relu(x)))"
    file = rules(f"/// Where x is negative, both are 0.\nrule squared_gate [real]:\n    {sides}\n")
    assert mir.check(squared, short, (x,), rules=file).regions[-1].rules == ("squared_gate",)
