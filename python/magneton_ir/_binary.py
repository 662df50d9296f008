"""Finds and runs the command `magneton-ir`."""

from __future__ import annotations

import contextlib
import os
import shutil
import subprocess
import sys
import sysconfig
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from ._errors import BinaryError, Error
from ._progress import Progress

VARIABLE = "MAGNETON_IR_BINARY"


def binary() -> Path:
    """The command: `$MAGNETON_IR_BINARY` if that is set, else the one that was installed with this package, else that on `$PATH`."""
    chosen = os.environ.get(VARIABLE)
    if chosen:
        if not os.access(chosen, os.X_OK):
            raise BinaryError(f"{VARIABLE} is {chosen}, which is no program")
        return Path(chosen).absolute()
    name = "magneton-ir" + (sysconfig.get_config_var("EXE") or "")
    for folder in (sysconfig.get_path("scripts"), sysconfig.get_path("scripts", f"{os.name}_user"), Path(sys.executable).parent):
        if os.access(Path(folder) / name, os.X_OK):
            return Path(folder) / name
    found = shutil.which(name)
    if found is None:
        raise BinaryError(f"the command {name} is not installed; install this package again, or set {VARIABLE}")
    return Path(found)


@dataclass(frozen=True)
class Answer:
    """How a command ended that did its work."""

    #: 0 yes, 1 no.
    status: int
    output: str
    #: Notes on standard error.
    notes: str


def run(arguments: Sequence[str], folder: Path, stage: str) -> Answer:
    """Runs the command in `folder`, and shows that `stage` is under way while it lasts.

    The command ends with the call, whatever ends the call: Ctrl-C, a notebook's stop button, a timeout in another thread.

    Raises:
        Error: The command's exit status is 2.
        BinaryError: It is missing or was killed.
    """
    with tempfile.TemporaryFile() as output, tempfile.TemporaryFile() as notes:
        program = str(binary())
        process = subprocess.Popen([program, *arguments], cwd=folder, stdin=subprocess.DEVNULL, stdout=output, stderr=notes)
        try:
            with Progress(stage):
                status = _wait(process)
        finally:
            if process.poll() is None:
                process.kill()
                process.wait()
        texts = []
        for file in (output, notes):
            file.seek(0)
            texts.append(file.read().decode(errors="replace"))
    if status == 2:
        # Every option comes from this package.
        if "unexpected argument" in texts[1]:
            raise BinaryError(f"{program} does not fit this package: install one version of both\n{texts[1].strip()}")
        raise Error.of_diagnostic(texts[1])
    if status not in (0, 1):
        raise BinaryError(f"magneton-ir ended with status {status}\n{texts[1].strip()}")
    return Answer(status, *texts)


def _wait(process: subprocess.Popen[bytes]) -> int:
    """Waits in short turns: an interrupt that is no signal, as notebooks may send, is seen between them."""
    while True:
        with contextlib.suppress(subprocess.TimeoutExpired):
            return process.wait(timeout=1)
