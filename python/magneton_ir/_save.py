"""Exported programs as archives that the command reads."""

from __future__ import annotations

from collections.abc import Set
from pathlib import Path
from typing import TYPE_CHECKING

from ._errors import Error

if TYPE_CHECKING:
    from torch.export import ExportedProgram


def save(program: ExportedProgram, path: Path, without: Set[str] = frozenset()) -> None:
    """Writes a program for the command."""
    import torch

    from . import _weights
    from ._custom import for_command
    from ._interpreter import lock

    try:
        # PyTorch registers how to write its fake tensors for as long as it saves, and refuses to do so twice at once.
        with lock:
            torch.export.save(_weights.without(for_command(program), without), path)
    except Error:
        raise
    except Exception as refused:
        raise Error(f"torch.export cannot save {path.stem}: {type(refused).__name__}: {refused}") from refused
