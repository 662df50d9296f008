"""Writes `triton-*.pt2` beside this file, or into the folder that it is given: a program that launches two Triton kernels of its
own, with and without decompositions, and the same without kernels. Needs a GPU, since files name kernels by what they were compiled to."""

import pathlib
import sys
import tempfile
import zipfile

import torch
import triton
import triton.language as tl


@triton.jit
def scaled_sum(x_ptr, y_ptr, out_ptr, count, factor, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    here = at < count
    x = tl.load(x_ptr + at, mask=here)
    y = tl.load(y_ptr + at, mask=here)
    tl.store(out_ptr + at, x + y * factor, mask=here)


@triton.jit
def at_least_zero(x_ptr, COUNT: tl.constexpr, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    here = at < COUNT
    x = tl.load(x_ptr + at, mask=here)
    tl.store(x_ptr + at, tl.maximum(x, 0.0), mask=here)


class Fused(torch.nn.Module):
    def forward(self, x, y):
        first, second = torch.empty_like(x), torch.empty_like(x)
        count = x.numel()
        scaled_sum[(triton.cdiv(count, 256),)](x, y, first, count, 0.5, BLOCK=256)
        scaled_sum[(triton.cdiv(count, 256),)](x, y, second, count, 0.25, BLOCK=256)
        at_least_zero[(triton.cdiv(count, 128),)](first, COUNT=count, BLOCK=128)
        return first - second


class Plain(torch.nn.Module):
    def forward(self, x, y):
        return torch.relu(x + y * 0.5) - (x + y * 0.25)


if __name__ == "__main__":
    HERE = pathlib.Path(__file__).parent.resolve()
    target = pathlib.Path(sys.argv[1]) if len(sys.argv) > 1 else HERE
    x, y = torch.randn(32, 64, device="cuda"), torch.randn(32, 64, device="cuda")
    assert torch.allclose(Fused()(x, y), Plain()(x, y), atol=1e-6)
    undecomposed = torch.export.export(Fused(), (x, y), strict=True)
    programs = {
        "triton": undecomposed.run_decompositions({}),
        "triton-unnamed": undecomposed,
        "triton-plain": torch.export.export(Plain(), (x, y)),
    }
    for name, program in programs.items():
        with tempfile.TemporaryDirectory() as folder:
            full = pathlib.Path(folder) / f"{name}.pt2"
            torch.export.save(program, full)
            with zipfile.ZipFile(full) as source, zipfile.ZipFile(target / full.name, "w", zipfile.ZIP_DEFLATED) as written:
                for member in source.namelist():
                    # Source lines without the places of this checkout and of this machine's packages.
                    text = source.read(member).replace(f"{HERE}/".encode(), b"")
                    text = text.replace(str(pathlib.Path(torch.__file__).parents[1]).encode(), b"site-packages")
                    if "sample_inputs" not in member:
                        written.writestr(member, text)
