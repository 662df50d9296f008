"""Writes `torch-VERSION.pt2` beside this file: a small model with its weights, as the torch that runs this exports it.

    python tests/data/make_versions.py

The files are checked in, one of torch 2.5 (an archive of the older layout) and one of torch 2.11.
"""

import io
import pathlib
import zipfile

import torch
import torch.nn.functional as F

HERE = pathlib.Path(__file__).resolve().parent


class Block(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.norm = torch.nn.LayerNorm(8)
        self.up = torch.nn.Linear(8, 16)
        self.down = torch.nn.Linear(16, 8)
        self.register_buffer("scale", torch.full((8,), 0.5))

    def forward(self, x):
        hidden = F.gelu(self.up(self.norm(x)))
        heads = hidden.view(2, 3, 4, 4).transpose(1, 2)
        mixed = F.scaled_dot_product_attention(heads, heads, heads, is_causal=True)
        return x + self.scale * self.down(mixed.transpose(1, 2).reshape(2, 3, 16))


torch.manual_seed(0)
with torch.no_grad():
    program = torch.export.export(Block().eval(), (torch.zeros(2, 3, 8),))
buffer = io.BytesIO()
torch.export.save(program, buffer)
version = ".".join(torch.__version__.split(".")[:2])
site = pathlib.Path(torch.__file__).resolve().parent.parent
with zipfile.ZipFile(buffer) as source, zipfile.ZipFile(HERE / f"torch-{version}.pt2", "w") as target:
    for info in source.infolist():
        data = source.read(info).replace(f"{site}/".encode(), b"site-packages/").replace(f"{HERE}/".encode(), b"")
        # Members stay as they were written: stored.
        target.writestr(zipfile.ZipInfo(info.filename, (1980, 1, 1, 0, 0, 0)), data)
