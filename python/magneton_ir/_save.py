"""Exported programs as archives that the command reads."""

from __future__ import annotations

import json
from collections.abc import Mapping, Set
from pathlib import Path
from typing import TYPE_CHECKING

from ._errors import Error

if TYPE_CHECKING:
    from torch.export import ExportedProgram


def save(program: ExportedProgram, path: Path, environment: Mapping[str, object], without: Set[str] = frozenset()) -> None:
    """Writes a program for the command, with what is known of the process that it comes from."""
    import torch

    from . import _weights
    from ._custom import for_command
    from ._environment import MEMBER
    from ._interpreter import lock

    try:
        # PyTorch registers how to write its fake tensors for as long as it saves, and refuses to do so twice at once.
        with lock:
            extra = {MEMBER: json.dumps(environment)}
            torch.export.save(_weights.without(for_command(program), without), path, extra_files=extra)
    except Error:
        raise
    except Exception as refused:
        raise Error(f"torch.export cannot save {path.stem}: {type(refused).__name__}: {refused}") from refused
