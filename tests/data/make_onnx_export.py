"""Writes `onnx/block.pt2` and `onnx/block.onnx` beside this file: one module, as `torch.export` and as `torch.onnx.export` write it. Made with
torch 2.11 and onnxscript."""

import pathlib
import tempfile
import zipfile

import onnx
import torch
from torch import nn


class Block(nn.Module):
    """A feed-forward block in front of which the rows are normalised."""

    def __init__(self):
        super().__init__()
        self.norm, self.up, self.down = nn.LayerNorm(16), nn.Linear(16, 32), nn.Linear(32, 16)

    def forward(self, x):
        return x + self.down(nn.functional.gelu(self.up(self.norm(x))))


def without_places(text):
    """Source lines without the places of this checkout and of this machine's packages."""
    text = text.replace(f"{pathlib.Path(__file__).parent.resolve()}/", "")
    return text.replace(str(pathlib.Path(torch.__file__).parents[1]), "site-packages")


if __name__ == "__main__":
    HERE = pathlib.Path(__file__).parent / "onnx"
    torch.manual_seed(0)
    block, x = Block().eval(), torch.randn(8, 16)
    with tempfile.TemporaryDirectory() as folder:
        full = pathlib.Path(folder) / "block.pt2"
        torch.export.save(torch.export.export(block, (x,)), full)
        with zipfile.ZipFile(full) as source, zipfile.ZipFile(HERE / full.name, "w", zipfile.ZIP_DEFLATED) as written:
            for member in source.namelist():
                if "sample_inputs" not in member:
                    data = source.read(member)
                    written.writestr(member, without_places(data.decode()) if member.endswith(".json") else data)
    model = torch.onnx.export(block, (x,), dynamo=True, input_names=["x"]).model_proto
    for node in [*model.graph.node, *model.graph.value_info, model.graph, model]:
        for entry in node.metadata_props:
            entry.value = without_places(entry.value)
    onnx.save(model, HERE / "block.onnx")
