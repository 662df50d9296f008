"""Source lines of operators: which frames of a stack are the user's code."""

from __future__ import annotations

import contextlib
import traceback
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any, TypeVar

import torch

from ._interpreter import lock

TORCH = str(Path(torch.__file__).parent) + "/"
# Triton comes with PyTorch and lies beside it.
TRITON = str(Path(torch.__file__).parents[1] / "triton") + "/"
LAYERS = TORCH + "nn/modules/"
OURS = str(Path(__file__).parent) + "/"

Frame = TypeVar("Frame")


def of_user(frames: Sequence[Frame], file: Callable[[Frame], str]) -> list[Frame]:
    """The frames that say where an operator comes from: those of the user's code, or else those of PyTorch's layers."""
    foreign = [frame for frame in frames if not file(frame).startswith(("<", OURS))]
    own = [frame for frame in foreign if not file(frame).startswith((TORCH, TRITON))]
    return own or [frame for frame in foreign if file(frame).startswith(LAYERS) and not file(frame).endswith("/module.py")]


@contextlib.contextmanager
def full_stacks() -> Iterator[None]:
    """Lets exports keep all frames of the user's code. By themselves they keep those of functions called `forward` only."""
    tracer = torch.fx.proxy.TracerBase
    own = getattr(tracer, "_filter_traceback_frames", None)

    def filtered(self: Any, stack: Any) -> traceback.StackSummary:
        start = max((i for i, frame in enumerate(stack) if frame.filename.startswith(OURS)), default=-1)
        kept: list[traceback.FrameSummary] = of_user(stack[start + 1 :], lambda frame: frame.filename)
        return traceback.StackSummary.from_list(kept)

    with lock:
        if own is not None:
            tracer._filter_traceback_frames = filtered
        try:
            yield
        finally:
            if own is not None:
                tracer._filter_traceback_frames = own
