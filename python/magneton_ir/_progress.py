"""Shows that long work is under way: in terminals and in notebooks."""

from __future__ import annotations

import sys
import threading
import time
from types import TracebackType

# Work shorter than this shows nothing.
PATIENCE_S = 1.0


class Progress:
    """A line on standard error with the seconds that `stage` has taken so far, which goes away at the end."""

    def __init__(self, stage: str) -> None:
        self._stage = stage
        self._done = threading.Event()
        self._thread = threading.Thread(target=self._show, daemon=True) if _is_watched() else None

    def __enter__(self) -> Progress:
        if self._thread is not None:
            self._thread.start()
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self._done.set()
        if self._thread is not None:
            self._thread.join()

    def _show(self) -> None:
        start, width = time.monotonic(), 0
        while not self._done.wait(PATIENCE_S):
            text = f"magneton-ir: {self._stage}, {time.monotonic() - start:.0f} s"
            sys.stderr.write("\r" + text.ljust(width))
            sys.stderr.flush()
            width = max(width, len(text))
        if width:
            sys.stderr.write("\r" + " " * width + "\r")
            sys.stderr.flush()


def _is_watched() -> bool:
    """Whether somebody sees standard error as it is written."""
    in_notebook = "ipykernel" in sys.modules
    return in_notebook or (sys.stderr is not None and sys.stderr.isatty())
