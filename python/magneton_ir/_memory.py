"""Where tensors lie."""

from __future__ import annotations

import torch


def memory(tensor: torch.Tensor) -> int:
    """Which memory a tensor lies in."""
    return int(tensor.untyped_storage()._cdata)


def overlap(x: torch.Tensor, y: torch.Tensor) -> bool:
    """Whether the first to the last element of two tensors of one memory meet."""

    def span(t: torch.Tensor) -> tuple[int, int]:
        start = t.storage_offset() * t.element_size()
        last = sum((size - 1) * stride for size, stride in zip(t.shape, t.stride()))
        return (start, start + (last + 1) * t.element_size() if t.numel() else start)

    (a, b), (c, d) = span(x), span(y)
    return a < d and c < b
