"""Writes `weights-*.pt2` beside this file: one small decoder with its weights, under several names and shapes of them.

    python tests/data/make_weights.py

plain    linear layers for queries, keys, values
renamed  the same under other names, which are in another order
merged   one layer for queries, keys, values
turned   as GPT-2 has it: merged, and every weight transposed
conv     as plain, under the same names, with every weight transposed
other    as renamed, with one weight that plain does not have
retrained        as plain, with that weight
merged-other     as merged, with that weight
merged-retrained as merged, with other values for every weight
scaled           a linear layer and a table whose weights are computed of parameters at every call
masked           attention with a causal mask of 0 and -inf in a buffer
"""

import io
import pathlib
import zipfile

import torch
import torch.nn.functional as F

HERE = pathlib.Path(__file__).resolve().parent
SIZE, INNER, LAYERS = 8, 16, 2


def linear(x, weight, bias):
    return F.linear(x, weight, bias)


def turned(x, weight, bias):
    return torch.addmm(bias, x, weight)


def attention(q, k, v):
    heads = [part.view(4, 2, 4).transpose(0, 1) for part in (q, k, v)]
    return F.scaled_dot_product_attention(*heads, is_causal=True).transpose(0, 1).reshape(4, SIZE)


class Layer(torch.nn.Module):
    """A layer whose parameters have the names in `names` and are registered in the order in which those stand."""

    def __init__(self, values, names, call):
        super().__init__()
        self.names, self.call = names, call
        for name, shown in names.items():
            self.register_parameter(shown, torch.nn.Parameter(values[name].clone()))

    def get(self, *names):
        return [getattr(self, self.names[name]) for name in names]

    def forward(self, x):
        norm = F.layer_norm(x, (SIZE,), *self.get("norm", "shift"))
        if "qkv" in self.names:
            parts = self.call(norm, *self.get("qkv", "qkv_bias")).split(SIZE, dim=1)
        else:
            parts = [self.call(norm, *self.get(p, f"{p}_bias")) for p in "qkv"]
        x = x + self.call(attention(*parts), *self.get("out", "out_bias"))
        return x + self.call(F.gelu(self.call(x, *self.get("up", "up_bias"))), *self.get("down", "down_bias"))


class Model(torch.nn.Module):
    def __init__(self, layers):
        super().__init__()
        self.layers = torch.nn.ModuleList(layers)

    def forward(self, x):
        for layer in self.layers:
            x = layer(x)
        return x


def values():
    """Of one layer. Biases of `k` and `out` are zeros, as in many a model; all else was trained."""
    shapes = {"q": (SIZE, SIZE), "k": (SIZE, SIZE), "v": (SIZE, SIZE), "out": (SIZE, SIZE)}
    shapes |= {"up": (INNER, SIZE), "down": (SIZE, INNER)}
    all = {"norm": torch.rand(SIZE), "shift": torch.rand(SIZE)}
    for name, shape in shapes.items():
        all[name] = torch.randn(shape)
        all[f"{name}_bias"] = torch.zeros(shape[0]) if name in ("k", "out") else torch.randn(shape[0])
    return all


def merged(layer):
    all = dict(layer)
    for suffix in ("", "_bias"):
        all[f"qkv{suffix}"] = torch.cat([all.pop(f"{part}{suffix}") for part in "qkv"])
    return all


def transposed(layer):
    """Two of the weights keep their memory, so that the archive describes them by strides."""
    turned = lambda name, value: value.T if name in ("up", "out") else value.T.contiguous()
    return {name: turned(name, value) if value.dim() == 2 else value for name, value in layer.items()}


def save(name, model, *inputs):
    with torch.no_grad():
        program = torch.export.export(model.eval(), inputs or (torch.zeros(4, SIZE),))
    buffer = io.BytesIO()
    torch.export.save(program, buffer)
    site = pathlib.Path(torch.__file__).resolve().parent.parent
    with zipfile.ZipFile(buffer) as source, zipfile.ZipFile(HERE / f"weights-{name}.pt2", "w") as target:
        for info in source.infolist():
            data = source.read(info).replace(f"{site}/".encode(), b"site-packages/").replace(f"{HERE}/".encode(), b"")
            packed = zipfile.ZIP_DEFLATED if info.filename.endswith(".json") else zipfile.ZIP_STORED
            target.writestr(zipfile.ZipInfo(info.filename, (1980, 1, 1, 0, 0, 0)), data, packed)


class Masked(torch.nn.Module):
    def __init__(self, positions=64):
        super().__init__()
        mask = torch.full((positions, positions), float("-inf"), dtype=torch.bfloat16).triu(1)
        self.register_buffer("mask", mask, persistent=False)

    def forward(self, q, k, v):
        scores = q @ k.transpose(-1, -2) * 0.125 + self.mask[: q.shape[-2], : q.shape[-2]]
        return torch.softmax(scores, dim=-1) @ v


class Scaled(torch.nn.Module):
    def __init__(self):
        super().__init__()
        own = torch.Generator().manual_seed(1)
        self.weight = torch.nn.Parameter(torch.randn(INNER, SIZE, generator=own))
        self.scale = torch.nn.Parameter(torch.rand(INNER, 1, generator=own))
        self.register_buffer("shift", torch.rand(INNER, generator=own))

    def forward(self, x):
        return F.linear(x, self.weight * self.scale) + torch.exp(self.shift)


torch.manual_seed(0)
all = [values() for _ in range(LAYERS)]
named = lambda layer, prefix="": {name: prefix + name for name in layer}
backwards = lambda layer: {name: f"p_{name}" for name in reversed(layer)}

save("plain", Model(Layer(v, named(v), linear) for v in all))
save("renamed", Model(Layer(v, backwards(v), linear) for v in all))
save("merged", Model(Layer(v, named(v, "w_"), linear) for v in map(merged, all)))
save("turned", Model(Layer(v, named(v, "t_"), turned) for v in map(transposed, map(merged, all))))
save("conv", Model(Layer(v, named(v), turned) for v in map(transposed, all)))
all[1]["v"] = torch.randn(SIZE, SIZE)
save("other", Model(Layer(v, backwards(v), linear) for v in all))
save("retrained", Model(Layer(v, named(v), linear) for v in all))
save("merged-other", Model(Layer(v, named(v, "w_"), linear) for v in map(merged, all)))
save("merged-retrained", Model(Layer(v, named(v, "w_"), linear) for v in (merged(values()) for _ in range(LAYERS))))
save("scaled", Scaled())
save("masked", Masked(), *(torch.zeros(16, 16, 64, 64, dtype=torch.bfloat16) for _ in range(3)))
