"""Writes `outputs-*.pt2` beside this file: programs over one tensor that differ in what they return, or in what they write to.

    python tests/data/make_outputs.py
"""

import io
import pathlib
import zipfile
from collections import OrderedDict, namedtuple
from dataclasses import dataclass

import torch

HERE = pathlib.Path(__file__).resolve().parent
Pair = namedtuple("Pair", ["a", "b"])


@dataclass
class Fields:
    b: torch.Tensor
    a: torch.Tensor
    c: torch.Tensor = None


torch.export.register_dataclass(Fields, serialized_type_name="outputs.Fields")
torch.utils._pytree._register_namedtuple(Pair, serialized_type_name="outputs.Pair")


class Model(torch.nn.Module):
    def __init__(self, call):
        super().__init__()
        self.call = call
        self.register_buffer("one", torch.zeros(4))
        self.register_buffer("two", torch.zeros(4))

    def forward(self, x, n=2):
        return self.call(self, x, n)


def write(name, value):
    def call(model, x, n):
        getattr(model, name).copy_(value(model, x))
        return x + 1

    return call


def write_twice(model, x, n):
    """One value for two buffers."""
    model.one.mul_(2)
    model.two.copy_(model.one)
    return x + 1


PROGRAMS = {
    "dict": lambda m, x, n: {"a": x * 2, "b": x + 1},
    "dict-other-order": lambda m, x, n: {"b": x + 1, "a": x * 2},
    "dict-swapped": lambda m, x, n: {"a": x + 1, "b": x * 2},
    "dict-other-key": lambda m, x, n: {"a": x * 2, "c": x + 1},
    "ordered": lambda m, x, n: OrderedDict([("b", x + 1), ("a", x * 2)]),
    "fields": lambda m, x, n: Fields(b=x + 1, a=x * 2),
    "nested": lambda m, x, n: {"p": (x * 2, [x + 1, {"q": x}]), "r": x},
    "nested-swapped": lambda m, x, n: {"p": (x * 2, [x, {"q": x + 1}]), "r": x},
    "tuple": lambda m, x, n: (x * 2, x + 1),
    "list": lambda m, x, n: [x * 2, x + 1],
    "named-tuple": lambda m, x, n: Pair(x * 2, x + 1),
    "alone": lambda m, x, n: x * 2,
    "only": lambda m, x, n: (x * 2,),
    "half": lambda m, x, n: (x * 2, 0.5),
    "quarter": lambda m, x, n: (x * 2, 0.25),
    "true": lambda m, x, n: (x * 2, True),
    "one": lambda m, x, n: (x * 2, 1),
    "none": lambda m, x, n: (x * 2, None),
    "text": lambda m, x, n: (x * 2, "mean"),
    "other-text": lambda m, x, n: (x * 2, "sum"),
    "write-one": write("one", lambda m, x: x * 3),
    "write-two": write("two", lambda m, x: x * 3),
    "write-nothing": lambda m, x, n: x + 1,
    # PyTorch itself cannot decompose it.
    "twice": write_twice,
    "write-back": write("one", lambda m, x: m.one * 1),
    "given-two": lambda m, x, n: x * n,
}


def save(name, program):
    buffer = io.BytesIO()
    torch.export.save(program, buffer)
    site = pathlib.Path(torch.__file__).resolve().parent.parent
    with zipfile.ZipFile(buffer) as source, zipfile.ZipFile(HERE / f"outputs-{name}.pt2", "w") as target:
        for info in source.infolist():
            data = source.read(info).replace(f"{site}/".encode(), b"site-packages/").replace(f"{HERE}/".encode(), b"")
            packed = zipfile.ZIP_DEFLATED if info.filename.endswith(".json") else zipfile.ZIP_STORED
            target.writestr(zipfile.ZipInfo(info.filename, (1980, 1, 1, 0, 0, 0)), data, packed)


for name, call in PROGRAMS.items():
    program = torch.export.export(Model(call).eval(), (torch.zeros(4),))
    save(name, program.run_decompositions({}) if name.startswith("write") else program)
given = torch.export.export(Model(PROGRAMS["given-two"]).eval(), (torch.zeros(4), 3))
save("given-three", given)
