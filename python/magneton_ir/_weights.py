"""Weights that need not be written.

A weight of the same name and type that holds the very same values on both sides is compared here, in memory, and written to
neither file: the command then binds the two by their name and compares the graphs for all values of it, which includes these.
Everything else is written, so that the command finds weights that were merged, transposed or renamed by their values.
"""

from __future__ import annotations

import copy
from collections.abc import Set
from typing import TYPE_CHECKING, Any

import torch

if TYPE_CHECKING:
    from torch.export import ExportedProgram

# Smaller weights are always written: constants that a proof may want to read are among them.
MIN_BYTES = 1 << 20


def same_weights(a: ExportedProgram, b: ExportedProgram) -> set[str]:
    """The names of large weights that are the same tensor on both sides, or one with the same values."""
    ours, theirs = a.state_dict, b.state_dict
    return {name for name in ours.keys() & theirs.keys() if is_same(ours[name], theirs[name])}


def is_same(x: torch.Tensor, y: torch.Tensor) -> bool:
    if x.shape != y.shape or x.dtype != y.dtype or not has_values(x) or not has_values(y):
        return False
    if x.numel() * x.element_size() < MIN_BYTES:
        return False
    if x.device == y.device and x.data_ptr() == y.data_ptr() and x.stride() == y.stride():
        return True
    with torch.no_grad():
        # Bit by bit: a NaN is equal to itself here, and zeros of two signs differ.
        bits = {1: torch.uint8, 2: torch.int16, 4: torch.int32, 8: torch.int64}.get(x.element_size())
        if bits is None or x.device != y.device:
            return False
        return bool(torch.equal(x.detach().contiguous().view(bits), y.detach().contiguous().view(bits)))


def has_values(x: torch.Tensor) -> bool:
    return x.device.type != "meta" and not isinstance(x, torch._subclasses.FakeTensor)


def without(program: ExportedProgram, names: Set[str]) -> ExportedProgram:
    """The program for writing: without example inputs, and without the values of weights that have none or are named."""

    def kept(name: str, x: Any) -> Any:
        if not isinstance(x, torch.Tensor) or (has_values(x) and name not in names):
            return x
        empty = torch.empty_strided(x.size(), x.stride(), dtype=x.dtype, device="meta")
        return torch.nn.Parameter(empty, requires_grad=False) if isinstance(x, torch.nn.Parameter) else empty

    slim = copy.copy(program)
    slim._state_dict = {name: kept(name, x) for name, x in program.state_dict.items()}
    slim._constants = {name: kept("", x) for name, x in program.constants.items()}
    slim._example_inputs = None
    return slim
