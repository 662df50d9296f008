"""Source lines of operators: which frames of a stack are the user's code."""

from __future__ import annotations

import contextlib
import threading
import traceback
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import torch

TORCH = str(Path(torch.__file__).parent) + "/"
OURS = str(Path(__file__).parent) + "/"

# Of PyTorch, the layers say something: which line of `Linear.forward` is it?
SHOWN = tuple(TORCH + part for part in ("nn/modules/", "nn/functional.py"))
HIDDEN = TORCH + "nn/modules/module.py"

# Exporting and recording change the state of the interpreter, of which there is one.
lock = threading.RLock()


def is_shown(file: str) -> bool:
    """Whether a frame of this file says where an operator comes from."""
    if file.startswith("<") or file.startswith(OURS):
        return False
    return not file.startswith(TORCH) or (file.startswith(SHOWN) and file != HIDDEN)


@contextlib.contextmanager
def full_stacks() -> Iterator[None]:
    """Lets exports keep all frames of the user's code. By themselves they keep those of functions called `forward` only."""
    tracer = torch.fx.proxy.TracerBase
    own = getattr(tracer, "_filter_traceback_frames", None)

    def of_user(self: Any, stack: traceback.StackSummary) -> traceback.StackSummary:
        start = max((i for i, frame in enumerate(stack) if frame.filename.startswith(OURS)), default=-1)
        return traceback.StackSummary.from_list([frame for frame in stack[start + 1 :] if is_shown(frame.filename)])

    with lock:
        if own is not None:
            tracer._filter_traceback_frames = of_user
        try:
            yield
        finally:
            if own is not None:
                tracer._filter_traceback_frames = own
