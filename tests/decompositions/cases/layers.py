"""Norms, convolutions, pooling, resampling and recurrent layers."""

import torch
from torch import nn
from torch.nn import functional as F

from .case import Case, case, grid
from .case import operand as tensor

# Module, its arguments, types of the operand.
MODULES = [
    ("BatchNorm1d", (6,), "f32[4, 6]"), ("BatchNorm1d", (6,), "f32[4, 6, 5]"), ("BatchNorm2d", (6,), "f32[2, 6, 5, 5]"), ("BatchNorm3d", (6,), "f32[1, 6, 3, 3, 3]"),
    ("BatchNorm2d", (6, 1e-3, 0.1, False), "f32[2, 6, 5, 5]"), ("GroupNorm", (3, 6), "f32[2, 6, 5, 5]"), ("GroupNorm", (2, 6), "f32[2, 6, 8]"), ("GroupNorm", (3, 6, 1e-6, False), "f32[2, 6, 5, 5]"),
    ("GroupNorm", (1, 6), "f32[2, 6]"), ("InstanceNorm1d", (6,), "f32[2, 6, 8]"), ("InstanceNorm2d", (6, 1e-5, 0.1, True), "f32[2, 6, 5, 5]"), ("InstanceNorm2d", (6, 1e-5, 0.1, True, True), "f32[2, 6, 5, 5]"),
    ("LayerNorm", (8,), "f32[2, 3, 8]"), ("LayerNorm", ((3, 8),), "f32[2, 3, 8]"), ("LayerNorm", (8, 1e-6, False), "f32[2, 3, 8]"), ("LayerNorm", (8, 1e-5, True, False), "f32[3, 8]"), ("RMSNorm", (8,), "f32[2, 3, 8]"),
    ("RMSNorm", (8, 1e-6, False), "f32[2, 3, 8]"), ("LocalResponseNorm", (2,), "f32[2, 6, 5, 5]"), ("LocalResponseNorm", (3, 1e-4, 0.5), "f32[2, 6, 5]"), ("PReLU", (6,), "f32[2, 6, 5]"), ("PReLU", (), "f32[2, 6]"),
    ("Conv1d", (4, 6, 3), "f32[2, 4, 9]"), ("Conv1d", (4, 6, 3, 2, 1, 2, 2), "f32[2, 4, 12]"), ("Conv2d", (4, 6, 3), "f32[2, 4, 8, 8]"), ("Conv2d", (4, 6, (1, 3), (2, 1), "same", 1, 2), None),
    ("Conv2d", (4, 4, 3, 1, "same", 1, 4, False), "f32[1, 4, 7, 7]"), ("Conv3d", (2, 4, 3), "f32[1, 2, 5, 5, 5]"), ("ConvTranspose1d", (4, 6, 4, 2, 1), "f32[2, 4, 9]"), ("ConvTranspose2d", (4, 6, 3, 2, 1, 1, 2), "f32[2, 4, 7, 7]"),
    ("ConvTranspose3d", (2, 4, 2, 2), "f32[1, 2, 3, 3, 3]"), ("Conv1d", (4, 6, 3), "f32[4, 9]"), ("Conv2d", (4, 6, 3, 1, 1, 1, 1, True, "reflect"), "f32[1, 4, 6, 6]"), ("Conv2d", (4, 6, 3, 1, 1, 1, 1, True, "circular"), "f32[1, 4, 6, 6]"),
    ("AvgPool1d", (3, 2, 1), "f32[2, 4, 12]"), ("AvgPool2d", (3, 2, 1), "f32[2, 4, 8, 8]"), ("AvgPool2d", (3, 2, 1, True, False), "f32[2, 4, 8, 8]"), ("AvgPool3d", (2,), "f32[1, 2, 4, 4, 6]"), ("MaxPool1d", (3, 2, 1), "f32[2, 4, 12]"),
    ("MaxPool2d", (2,), "f32[2, 4, 8, 8]"), ("MaxPool2d", (3, 2, 1, 1, False, True), "f32[2, 4, 9, 9]"), ("MaxPool3d", (2,), "f32[1, 2, 4, 4, 6]"), ("MaxPool2d", (2,), "f32[4, 8, 8]"), ("AdaptiveAvgPool1d", (5,), "f32[2, 4, 17]"),
    ("AdaptiveAvgPool1d", (1,), "f32[2, 4, 17]"), ("AdaptiveAvgPool1d", (4,), "f32[2, 4, 12]"), ("AdaptiveAvgPool2d", (1,), "f32[2, 4, 7, 7]"), ("AdaptiveAvgPool2d", ((3, 4),), "f32[2, 4, 13, 10]"), ("AdaptiveAvgPool2d", (4,), "f32[2, 4, 8, 8]"),
    ("AdaptiveAvgPool3d", (2,), "f32[1, 2, 4, 6, 6]"), ("AdaptiveMaxPool1d", (5,), "f32[2, 4, 17]"), ("AdaptiveMaxPool2d", (3,), "f32[2, 4, 13, 10]"), ("LPPool1d", (2, 3), "f32[2, 4, 12]"), ("LPPool2d", (2, 2), "f32[2, 4, 8, 8]"),
    ("Softmax2d", (), "f32[2, 4, 5, 5]"), ("LSTM", (4, 6, 1, True, True), "f32[2, 3, 4]"), ("LSTM", (4, 6, 2, True, True, 0.0, True), "f32[2, 3, 4]"), ("LSTM", (4, 6), "f32[3, 2, 4]"), ("GRU", (4, 6, 1, True, True), "f32[2, 3, 4]"),
    ("GRU", (4, 6, 2, True, False, 0.0, True), "f32[3, 2, 4]"), ("RNN", (4, 6, 1, "tanh", True, True), "f32[2, 3, 4]"), ("RNN", (4, 6, 1, "relu", True, False), "f32[3, 2, 4]"), ("LSTMCell", (4, 6), "f32[2, 4]"), ("GRUCell", (4, 6), "f32[2, 4]"),
    ("RNNCell", (4, 6), "f32[2, 4]"), ("RNNCell", (4, 6, False, "relu"), "f32[2, 4]"), ("Linear", (4, 6), "f32[2, 3, 4]"), ("Embedding", (9, 4), "i64[2, 3]"), ("ZeroPad2d", ((1, 2, 0, 1),), "f32[1, 2, 5, 5]"),
    ("TransformerEncoderLayer", (8, 2, 16, 0.0, "gelu", 1e-5, True), "f32[2, 5, 8]"), ("TransformerEncoderLayer", (8, 2, 16), "f32[5, 2, 8]"), ("Upsample", (None, 2, "nearest"), "f32[1, 2, 4, 4]"),
]
# Mode, keywords, types of the operand.
RESAMPLED = [
    ("nearest", dict(size=(9, 11)), "f32[1, 4, 6, 6]"), ("nearest", dict(scale_factor=2.0), "f32[1, 4, 6]"), ("nearest", dict(scale_factor=2), "f32[2, 4, 6, 6]"), ("nearest", dict(scale_factor=2), "f32[1, 2, 3, 3, 3]"), ("nearest", dict(scale_factor=0.5), "f32[1, 4, 6, 6]"),
    ("nearest-exact", dict(size=(9, 11)), "f32[1, 4, 6, 6]"), ("bilinear", dict(size=(9, 11)), "f32[1, 4, 6, 6]"), ("bilinear", dict(scale_factor=2.0, align_corners=True), "f32[1, 4, 6, 6]"), ("bilinear", dict(scale_factor=2), "f32[2, 3, 5, 5]"),
    ("bilinear", dict(scale_factor=0.5), "f32[2, 3, 8, 8]"), ("bilinear", dict(size=(12, 12)), "bf16[1, 3, 6, 6]"), ("bicubic", dict(size=(9, 11)), "f32[1, 4, 6, 6]"), ("bicubic", dict(scale_factor=2.0), "f32[1, 3, 5, 5]"),
    ("bicubic", dict(size=(8, 8), align_corners=True), "f32[1, 3, 5, 5]"), ("linear", dict(size=9), "f32[1, 4, 6]"), ("linear", dict(scale_factor=2, align_corners=True), "f32[2, 4, 6]"), ("trilinear", dict(size=(5, 6, 7)), "f32[1, 2, 4, 4, 4]"),
    ("area", dict(size=(4, 3)), "f32[1, 4, 9, 9]"), ("area", dict(size=4), "f32[1, 4, 8]"),
]


def cases():
    for kind, arguments, types in MODULES:
        if types:
            yield layer(kind, arguments, types)
    for mode, keywords, types in RESAMPLED:
        attributes = "_".join([mode, *(f"{key}-{value}".replace(", ", "x").strip() for key, value in keywords.items())]).replace("(", "").replace(")", "")
        yield case("layers", "interpolate", lambda x, m=mode, k=keywords: F.interpolate(x, mode=m, **k), types, attributes=attributes)
    for mode in ("bilinear", "nearest", "bicubic"):
        yield from grid("layers", "grid_sample", lambda x, g, m=mode: F.grid_sample(x, g, mode=m, align_corners=False), ("f32[1, 4, 9, 9]", "f32[1, 5, 6, 2]"), attributes=mode)
    yield from grid("layers", "grid_sample", lambda x, g: F.grid_sample(x, g, padding_mode="border", align_corners=True), ("f32[1, 4, 9, 9]", "f32[1, 5, 6, 2]"), attributes="border")
    yield from grid("layers", "affine_grid", lambda t: F.affine_grid(t, [2, 3, 6, 7], align_corners=False), "f32[2, 2, 3]")
    yield from grid("layers", "group_norm", lambda x, w, b: F.group_norm(x, 2, w, b), ("bf16[2, 4, 5, 5]", "bf16[4]", "bf16[4]"))
    yield from grid("layers", "layer_norm", lambda x, w, b: F.layer_norm(x, (8,), w, b), ("bf16[2, 3, 8]", "bf16[8]", "bf16[8]"))
    yield from grid("layers", "rms_norm", lambda x, w: F.rms_norm(x, (8,), w), ("bf16[2, 3, 8]", "bf16[8]"))
    yield from grid("layers", "rms_norm", lambda x, w: F.rms_norm(x, (8,), w, 1e-5), ("f32[2, 3, 8]", "f32[8]"), attributes="eps")
    yield from grid("layers", "multi_head_attention", multi_head, ("f32[2, 5, 8]", "f32[24, 8]", "f32[24]", "f32[8, 8]"))


def layer(kind, arguments, types):
    values = "_".join(str(a).replace(", ", "x").replace("(", "").replace(")", "") for a in arguments)
    name = "--".join(filter(None, (kind, values, types.replace(", ", "x").replace("[", "-").rstrip("]"))))
    return Case(name, "layers", lambda: (getattr(nn, kind)(*arguments), (tensor(types),), {}))


def multi_head(x, w, b, o):
    q, k, v = F.linear(x, w, b).chunk(3, -1)
    q, k, v = (t.unflatten(-1, (2, 4)).transpose(1, 2) for t in (q, k, v))
    return F.linear(F.scaled_dot_product_attention(q, k, v).transpose(1, 2).flatten(2), o)
