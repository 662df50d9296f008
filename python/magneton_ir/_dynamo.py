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
        with lock:
            number = len(list(target.glob("region-*.pt2")))
            path = target / f"region-{number:03}.pt2"
            try:
                record(graph, *example_inputs).save(path)
            except Error as error:
                with (target / "not-written.txt").open("a") as file:
                    file.write(f"after region {number - 1}: {error}\n")
        forward: Callable[..., Any] = graph.forward
        return forward

    return compile
