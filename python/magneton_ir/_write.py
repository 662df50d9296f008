"""Exported programs as files that the command reads."""

from __future__ import annotations

import re
from collections.abc import Set
from pathlib import Path
from typing import TYPE_CHECKING

from ._save import save

if TYPE_CHECKING:
    from ._program import Prepared


def write(side: Prepared, letter: str, folder: Path, without: Set[str] = frozenset()) -> Path:
    """Writes what is no file yet into `folder`. Gives the file. `without` names weights whose values are left out."""
    if side.path is not None:
        return side.path
    name = re.sub(r"[^A-Za-z0-9_-]+", "_", side.label) or "workload"
    path = folder / f"{letter}-{name}.{'pt2' if side.text is None else 'stablehlo'}"
    if side.text is not None:
        path.write_text(side.text)
    elif side.program is not None:
        save(side.program, path, side.environment, without)
    return path


def sources(side: Prepared) -> dict[str, str]:
    """Where each node of the graph was written: `file:line code`."""
    if side.program is None:
        return {}
    found = {}
    for node in side.program.graph.nodes:
        frames = re.findall(r'File "([^"]+)", line (\d+), in [^\n]*\n\s*([^\n]*)', node.meta.get("stack_trace") or "")
        if frames:
            file, line, code = frames[-1]
            found[node.name] = f"{file}:{line} {code}".strip()
    return found
