"""What one line of the lists is: a call of an operator with its attributes, and the types of its operands."""

import dataclasses
import re
import sys
from pathlib import Path

import torch

sys.path.insert(0, str(Path(__file__).parents[2] / "survey"))
from models.entry import Entry  # noqa: E402

TYPES = {"f32": torch.float32, "bf16": torch.bfloat16, "f16": torch.float16, "i64": torch.int64, "bool": torch.bool}


class Call(torch.nn.Module):
    """A function as a module."""

    def __init__(self, function):
        super().__init__()
        self.function = function

    def forward(self, *operands):
        return self.function(*operands)


def operand(text):
    """A tensor from its type as text, such as `f32[2, 3]`. Its elements make no difference: an export records none of them."""
    dtype, shape = re.fullmatch(r"(\w+)\[(.*)\]", text).groups()
    return torch.zeros([int(size) for size in shape.split(",") if size.strip()], dtype=TYPES[dtype])


@dataclasses.dataclass(frozen=True)
class Case(Entry):
    @property
    def held_out(self):
        """A third, chosen by the checksum of the name."""
        return self.checksum[0] % 3 == 0


def case(family, operator, function, *operands, attributes=""):
    """`function` stands for a call of `operator`; `attributes` says which one, where there are several of the same types."""
    types = "_".join(text.replace(", ", "x").replace("[", "-").rstrip("]") for text in operands)
    name = "--".join(filter(None, (operator, attributes, types)))
    return Case(name, family, lambda: (Call(function), tuple(operand(text) for text in operands), {}))


def grid(family, operator, function, *choices, attributes=""):
    """A case for each choice of operands."""
    return [case(family, operator, function, *([choice] if isinstance(choice, str) else choice), attributes=attributes) for choice in choices]
