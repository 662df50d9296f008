"""`python -m magneton_ir.measure ARGS`: measures operators with the PyTorch of this interpreter.

It is `magneton-ir measure --python THIS ARGS`: the command plans what runs, reads the energy meter and writes the profile, and has this interpreter
run the operators. PyTorch 2.5 or later with CUDA is needed, and an NVIDIA GPU.
"""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Sequence

from ._binary import binary


def main(arguments: Sequence[str]) -> int:
    """Runs the command, in place of this process where that is possible, so that signals reach it.

    Raises:
        BinaryError: The command is missing.
    """
    command = [str(binary()), "measure", "--python", sys.executable, *arguments]
    if os.name == "posix":
        os.execv(command[0], command)
    return subprocess.call(command)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
