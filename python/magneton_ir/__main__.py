"""`python -m magneton_ir` is the command `magneton-ir`."""

import subprocess
import sys

from ._binary import binary

if __name__ == "__main__":
    sys.exit(subprocess.call([str(binary()), *sys.argv[1:]]))
