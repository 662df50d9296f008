"""A backend for `torch.compile` that writes what it sees."""

from __future__ import annotations

import os
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import torch

from ._errors import Error
from ._record import record


def backend(folder: str | os.PathLike[str]) -> Callable[[torch.fx.GraphModule, list[Any]], Callable[..., Any]]:
    """A backend that writes every graph that Dynamo captures into `folder`, as `region-000.pt2`, `region-001.pt2` and so on.

    The compiled function computes what it would without. A graph break ends a region; what Dynamo compiles again for other
    sizes is a region of its own. Regions that cannot be written are listed with the reason in `not-written.txt`.

    Args:
        folder: It is made if it does not exist. Regions that are there already stay, and numbers go on behind them.

    Returns:
        What `torch.compile` takes as `backend`.
    """
    target = Path(folder)
    target.mkdir(parents=True, exist_ok=True)
    lock = threading.Lock()

    def compile(graph: torch.fx.GraphModule, example_inputs: list[Any]) -> Callable[..., Any]:
        path = _next_free(target)
        try:
            record(graph, *example_inputs).save(path)
        except Error as error:
            path.unlink()
            with lock, (target / "not-written.txt").open("a") as file:
                file.write(f"would have been {path.name}: {error}\n")
        forward: Callable[..., Any] = graph.forward
        return forward

    return compile


def _next_free(folder: Path) -> Path:
    """The next file, which exists from now on: other threads and processes take others."""
    number = len(list(folder.glob("region-*.pt2")))
    while True:
        path = folder / f"region-{number:03}.pt2"
        try:
            path.open("x").close()
        except FileExistsError:
            number += 1
        else:
            return path
