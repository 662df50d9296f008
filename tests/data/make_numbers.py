"""Writes the pairs under `numbers`: two programs each that compute with the same numbers, or with other ones. `NAME.b-same.pt2`
computes bit for bit what `NAME.a.pt2` does, `NAME.b-other.pt2` does not; both is tried out here before a pair is written.

Needs torch 2.11. The files are checked in; run this only to add pairs: `make_numbers.py [NAME…]`.
"""

import pathlib
import sys

import torch
from make_exports import repack
from torch import nn

HERE = pathlib.Path(__file__).parent / "numbers"
BIG = 2**53 + 1
INTS = torch.tensor([0, 1, -1, 2, 3, 7, 2**24 + 1, BIG, 2**62, 2**63 - 1, -(2**63), -BIG])
FLOATS = torch.tensor([0.0, -0.0, 1.0, -1.0, 0.5, 3.0, 1e30, -1e30, float("inf"), float("-inf"), float("nan"), 0.1])
BYTES = torch.tensor([0, 1, 2, 100, 127, 128, 200, 255], dtype=torch.uint8)
HALF = FLOATS.to(torch.bfloat16)


def full(value, dtype, size=(12,)):
    return lambda x: x + torch.full(size, value, dtype=dtype)


def pairs():
    """Name, both programs, how they compare, the input."""
    nan, inf = float("nan"), float("inf")
    # Integers beyond 2^53, and what wraps around.
    yield "scalar-beyond-doubles", lambda x: x + BIG, lambda x: x + (BIG - 1), "other", INTS
    yield "tensor-beyond-doubles", full(BIG, torch.int64), full(BIG - 1, torch.int64), "other", INTS
    yield "literal-beyond-doubles", lambda x: x * torch.tensor([BIG]), lambda x: x * torch.tensor([BIG - 1]), "other", INTS
    yield "bound-beyond-doubles", lambda x: x.clamp(max=BIG), lambda x: x.clamp(max=BIG - 1), "other", INTS
    yield "comparison-beyond-doubles", lambda x: x > BIG - 1, lambda x: x > BIG, "other", INTS
    yield "start-beyond-doubles", lambda x: x + torch.arange(BIG, BIG + 12), lambda x: x + torch.arange(BIG - 1, BIG + 11), "other", INTS
    yield "filled-beyond-doubles", lambda x: x.masked_fill(x > 2, BIG), lambda x: x.masked_fill(x > 2, BIG - 1), "other", INTS
    yield "wrapped-product", lambda x: (x * 2**62) * 4, lambda x: x * 0, "same", INTS
    yield "wrapped-sum", lambda x: x + (2**63 - 1) + 1, lambda x: x + -(2**63), "same", INTS
    yield "wrapped-folding", lambda x: x + torch.full((), 2**62) * 4, lambda x: x + torch.full((), 2**62).double().mul(4).clamp(max=2.0**62).long(), "other", INTS
    yield "wrapped-power", lambda x: x + torch.full((), 3, dtype=torch.int32).pow(21), lambda x: x + 10460353203, "other", INTS
    yield "wrapped-byte", lambda x: x + 300, lambda x: x + 44, "same", BYTES
    yield "saturated-byte", lambda x: x + 300, lambda x: (x.long() + 300).clamp(max=255).to(torch.uint8), "other", BYTES
    yield "absolute-value-of-the-smallest", lambda x: x.abs() < 0, lambda x: torch.zeros_like(x, dtype=torch.bool), "other", INTS
    yield "rest-of-negative", lambda x: torch.remainder(x, 3), lambda x: torch.fmod(x, 3), "other", INTS
    yield "quotient-of-negative", lambda x: torch.div(x, 2, rounding_mode="floor"), lambda x: torch.div(x, 2, rounding_mode="trunc"), "other", INTS
    yield "quotient-beyond-doubles", lambda x: torch.div(x + 0, 1, rounding_mode="floor"), lambda x: x.double().floor().clamp(-2.0**62, 2.0**62).long(), "other", INTS
    yield "integer-through-double", lambda x: x.double().clamp(-2.0**62, 2.0**62).long(), lambda x: x.clamp(-2**62, 2**62), "other", INTS
    yield "running-sum", lambda x: x.cumsum(0) + BIG, lambda x: (x + BIG).cumsum(0), "other", INTS
    # The sign of zero, NaN, rounding.
    yield "sign-of-zero", lambda x: x + 0.0, lambda x: x + -0.0, "other", FLOATS
    yield "sign-of-zero-filled", lambda x: x * torch.full((), 0.0), lambda x: x * torch.full((), -0.0), "other", FLOATS
    yield "sign-of-zero-folded", lambda x: x + torch.zeros(12).neg(), lambda x: x + torch.zeros(12), "other", FLOATS
    yield "sign-of-zero-bound", lambda x: torch.maximum(x, torch.full((12,), 0.0)), lambda x: torch.maximum(torch.full((12,), 0.0), x), "other", FLOATS
    yield "nan-against-itself", lambda x: x + torch.full((12,), nan), lambda x: x + torch.full((12,), nan), "same", FLOATS
    yield "nan-literal", lambda x: torch.where(x > 0, x, torch.tensor([nan])), lambda x: torch.where(x > 0, x, torch.tensor([nan])), "same", FLOATS
    yield "nan-against-infinity", lambda x: torch.where(x > 0, x, nan), lambda x: torch.where(x > 0, x, inf), "other", FLOATS
    yield "filled-and-rounded", lambda x: x * torch.full((), 0.1, dtype=torch.bfloat16), lambda x: x * torch.full((), 0.10009765625, dtype=torch.bfloat16), "same", HALF
    yield "literal-rounded", lambda x: x + torch.tensor([1.0 + 2**-30]), lambda x: x + torch.tensor([1.0]), "same", FLOATS
    yield "beyond-half", lambda x: x.half() + torch.full((), 70000.0, dtype=torch.float16), lambda x: x.half() + torch.full((), inf, dtype=torch.float16), "same", FLOATS
    yield "compared-and-rounded", lambda x: x == 0.1, lambda x: x == 0.10009765625, "same", HALF
    # Where a number is stored or compared, it is rounded; where it is computed with, it is not.
    counts = torch.arange(-6.0, 6.0).to(torch.float16)
    ones = torch.tensor([2046, 2047, 2048, 2049, 0, -1, 0.3, 1, 2, 3, 4, 5]).to(torch.float16)
    yield "chosen-and-rounded", lambda x: torch.where(x > 0, x, 2049.0).long(), lambda x: torch.where(x > 0, x.long(), 2049), "other", counts
    yield "chosen-as-stored", lambda x: torch.where(x > 0, x, 2049.0).long(), lambda x: torch.where(x > 0, x.long(), 2048), "same", counts
    yield "chosen-tenths", lambda x: torch.where(x > 0, x, 0.3), lambda x: torch.where(x > 0, x, torch.tensor(0.3, dtype=torch.float16)), "same", counts
    yield "chosen-beyond-half", lambda x: torch.where(x > 0, x, 1e5).float(), lambda x: torch.where(x > 0, x.float(), 1e5), "other", counts
    yield "filled-and-stored", lambda x: x.masked_fill(x > 0, 2049).long(), lambda x: x.long().masked_fill(x > 0, 2049), "other", counts
    yield "filled-tenths", lambda x: x.masked_fill(x > 0, 0.3), lambda x: x.masked_fill(x > 0, 0.300048828125), "same", counts
    yield "integer-compared-and-rounded", lambda x: torch.where(x < 257, x, 2 * x), lambda x: torch.where(x.float() < 257, x, 2 * x), "other", torch.arange(250.0, 262.0).to(torch.bfloat16)
    yield "rest-by-rounded", lambda x: torch.fmod(x, 0.3), lambda x: torch.fmod(x, torch.full((), 0.3, dtype=torch.float16)), "same", ones
    yield "remainder-by-rounded", lambda x: torch.remainder(x, 0.3), lambda x: torch.remainder(x, 0.300048828125), "same", ones
    yield "shrunk-by-rounded", lambda x: nn.functional.hardshrink(x, 0.3), lambda x: nn.functional.hardshrink(x.float(), 0.3).half(), "other", ones
    # One kernel, which may leave out the rounding of the product.
    yield "sum-with-factor", lambda x: torch.add(x, x.flip(0), alpha=0.3), lambda x: x + 0.3 * x.flip(0), "other", torch.linspace(0.1, 7.3, 64)
    yield "weight-that-is-not-rounded", lambda x: torch.lerp(x, x.neg(), 0.4), lambda x: torch.lerp(x.float(), x.neg().float(), 0.4).to(torch.bfloat16), "same", torch.arange(1.0, 13.0).to(torch.bfloat16)
    rows = torch.tensor([[0.1, 0.7, 1.3, 2.9], [3.1, 4.7, -5.3, 0.01], [1e-3, 2e-3, 5e-3, 7e-3], [11.0, 13.0, 17.0, 19.5]]).to(torch.bfloat16)
    yield "deviation-in-f32", lambda x: x.std(1), lambda x: x.var(1).sqrt(), "other", rows.repeat(8, 1) * torch.arange(1.0, 33.0).to(torch.bfloat16)[:, None]
    # What was read as another operator: in 8 bits, by sorting, by counting.
    short = torch.arange(12, dtype=torch.int8)
    yield "narrow-common-multiple", lambda x: x + torch.lcm(torch.tensor(36, dtype=torch.int8), torch.tensor(5, dtype=torch.int8)), lambda x: x + torch.tensor(-76, dtype=torch.int8), "same", short
    yield "common-multiple-that-is-cut-off", lambda x: torch.lcm(x + 36, torch.tensor(5, dtype=torch.int8)), lambda x: torch.lcm(x.int() + 36, torch.tensor(5, dtype=torch.int32)).clamp(max=127).to(torch.int8), "other", short
    equal = torch.tensor([[-1.0, -1.0, -1.0, 2.0, 1.0]])
    yield "place-of-an-equal-element", lambda x: x.kthvalue(2, 1)[1], lambda x: x.sort(1)[1][:, 1], "other", equal
    yield "place-in-a-list-that-falls", lambda x: torch.searchsorted(x, x + 0.5), lambda x: (x < x[:, None] + 0.5).sum(1), "other", torch.tensor([3.0, 1.0, 2.0, 0.0, 5.0])
    yield "mean-of-negative-zeros", lambda x: x + 1 / torch.tensor([-0.0, -0.0]).mean(), lambda x: x - inf, "other", FLOATS[2:8]
    yield "length-of-nothing", lambda x: x + 1 / torch.linalg.vector_norm(torch.zeros(3, 0), dim=1)[0], lambda x: x - inf, "other", FLOATS[2:8]
    yield "beside-and-rounded", lambda x: x * 1.01, lambda x: x * torch.full((), 1.01, dtype=torch.bfloat16), "other", torch.arange(128.0, 256.0).to(torch.bfloat16)
    # Of complex numbers, what was read as if they were real.
    table = torch.tensor([[1.0, 2.0, -3.0], [0.5, 0.0, 4.0]])
    yield "transpose-with-conjugates", lambda x: torch.complex(x, x + 1).mH.imag + 0.5, lambda x: torch.complex(x, x + 1).mT.imag + 0.5, "other", table
    yield "conjugates-of-a-transpose", lambda x: torch.complex(x, x + 1).mH.imag + 0.5, lambda x: torch.complex(x, x + 1).mT.conj().imag + 0.5, "same", table
    yield "complex-numbers-that-are-not-real", lambda x: torch.isreal(torch.complex(x, x)), lambda x: torch.ones_like(x, dtype=torch.bool), "other", table
    yield "complex-numbers-that-are-real", lambda x: torch.isreal(torch.complex(x, x)), lambda x: torch.complex(x, x).imag == 0, "same", table


class Program(nn.Module):
    def __init__(self, run):
        super().__init__()
        self.run = run

    def forward(self, x):
        return self.run(x)


def same(x, y):
    if x.dtype.is_floating_point:
        bits = {2: torch.int16, 4: torch.int32, 8: torch.int64}[x.element_size()]
        nan = x.isnan() & y.isnan()
        return x.dtype == y.dtype and bool(((x.view(bits) == y.view(bits)) | nan).all())
    return x.dtype == y.dtype and torch.equal(x, y)


def save(path, run, x):
    program = torch.export.export(Program(run), (x.clone(),))
    for node in program.graph.nodes:
        for key in ("stack_trace", "nn_module_stack", "torch_fn", "from_node", "source_fn_stack"):
            node.meta.pop(key, None)
    torch.export.save(program, path)
    repack(path)


def main():
    HERE.mkdir(exist_ok=True)
    for name, a, b, relation, x in pairs():
        if sys.argv[1:] and name not in sys.argv[1:]:
            continue
        if same(a(x), b(x)) != (relation == "same"):
            print(f"{name} is not {relation}: {a(x)} {b(x)}")
            continue
        save(HERE / f"{name}.a.pt2", a, x)
        save(HERE / f"{name}.b-{relation}.pt2", b, x)


if __name__ == "__main__":
    main()
