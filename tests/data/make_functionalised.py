"""Writes `functionalised.pt2` beside this file: a custom operator that writes two arguments, called on copies, and what it writes
put into its place. So `python/magneton_ir` writes such operators.

Needs the package `magneton_ir` of this repository, and torch 2.11. The file is checked in.
"""

import pathlib
import tempfile
import zipfile

import magneton_ir as mir
import torch


@torch.library.custom_op("my::scale_into", mutates_args=("out", "log"))
def scale_into(out: torch.Tensor, x: torch.Tensor, log: torch.Tensor, by: float = 2.0) -> None:
    out.copy_(x * by)
    log.add_(x)


@scale_into.register_fake
def _(out, x, log, by=2.0):
    pass


def program(x, log):
    out = torch.empty(2, 2, 3)
    scale_into(out[0], x, log)
    scale_into(out[1], x, log, 3.0)
    return out


if __name__ == "__main__":
    HERE = pathlib.Path(__file__).parent
    with tempfile.TemporaryDirectory() as folder:
        full = pathlib.Path(folder) / "functionalised.pt2"
        mir.record(program, torch.zeros(2, 3), torch.zeros(2, 3)).save(full)
        with zipfile.ZipFile(full) as source, zipfile.ZipFile(HERE / full.name, "w", zipfile.ZIP_DEFLATED) as target:
            for name in source.namelist():
                # Source lines without the place of this checkout.
                target.writestr(name, source.read(name).replace(f"{HERE}/".encode(), b""))
