"""Launches of Triton kernels while code is recorded."""

from __future__ import annotations

import contextlib
import sys
from collections.abc import Callable, Iterator
from typing import Any

from ._errors import Error


@contextlib.contextmanager
def refused(unless: Callable[[], bool], at: Callable[[], str]) -> Iterator[None]:
    """Refuses launches: PyTorch does not see what they write, and a kernel takes the address of a fake tensor for memory, after
    which the GPU answers no call of the process any more.

    Args:
        unless: Whether a launch is part of an operator that is recorded as a whole.
        at: Where the user's code is.
    """
    triton = sys.modules.get("triton.runtime.jit")
    if triton is None:
        yield
        return
    launch = triton.JITFunction.run

    def run(self: Any, *args: Any, **kwargs: Any) -> Any:
        if unless():
            return launch(self, *args, **kwargs)
        raise Error(f"the Triton kernel {self.fn.__name__} is launched{at()}, where a recording cannot follow: put the launch into a function with torch.library.triton_op")

    triton.JITFunction.run = run
    try:
        yield
    finally:
        triton.JITFunction.run = launch
