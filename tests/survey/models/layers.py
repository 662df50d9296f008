"""The modules of torch.nn, and what functions of `torch` are seldom part of a model: one entry each."""

import torch
from torch import nn
from torch.nn import functional as F

from .entry import Entry
from .inputs import floats, longs

ACTIVATIONS = [
    "CELU", "ELU", "GELU", "GLU", "Hardshrink", "Hardsigmoid", "Hardswish", "Hardtanh", "LeakyReLU", "LogSigmoid", "LogSoftmax", "Mish",
    "PReLU", "ReLU", "ReLU6", "SELU", "SiLU", "Sigmoid", "Softmax", "Softmin", "Softplus", "Softshrink", "Softsign", "Tanh", "Tanhshrink",
]
# Module, its arguments, shape of the input.
PLAIN = [
    ("RReLU", (), (4, 32)), ("Softmax2d", (), (2, 8, 6, 6)), ("Threshold", (0.1, 20.0), (4, 32)),
    ("BatchNorm1d", (32,), (4, 32, 10)), ("BatchNorm2d", (16,), (2, 16, 8, 8)), ("BatchNorm3d", (8,), (2, 8, 4, 6, 6)),
    ("GroupNorm", (4, 32), (2, 32, 8, 8)), ("InstanceNorm1d", (16,), (2, 16, 20)), ("InstanceNorm2d", (16, 1e-5, 0.1, True, True), (2, 16, 8, 8)),
    ("LayerNorm", (64,), (2, 10, 64)), ("LocalResponseNorm", (2,), (2, 16, 8, 8)), ("RMSNorm", (64,), (2, 10, 64)),
    ("AdaptiveAvgPool1d", (5,), (2, 8, 17)), ("AdaptiveAvgPool2d", ((3, 4),), (2, 8, 13, 10)), ("AdaptiveAvgPool3d", (2,), (2, 8, 4, 6, 6)),
    ("AdaptiveMaxPool1d", (5,), (2, 8, 17)), ("AdaptiveMaxPool2d", (3,), (2, 8, 13, 10)), ("AdaptiveMaxPool3d", (2,), (2, 8, 4, 6, 6)),
    ("AvgPool1d", (3, 2, 1), (2, 8, 20)), ("AvgPool2d", (3, 2, 1, True, False), (2, 8, 14, 14)), ("AvgPool3d", (2,), (2, 8, 4, 6, 6)),
    ("MaxPool1d", (3, 2, 1), (2, 8, 20)), ("MaxPool2d", (3, 2, 1, 1, False, True), (2, 8, 14, 14)), ("MaxPool3d", (2,), (2, 8, 4, 6, 6)),
    ("LPPool1d", (2, 3), (2, 8, 20)), ("LPPool2d", (2, 3), (2, 8, 14, 14)), ("FractionalMaxPool2d", (2, (6, 6)), (2, 8, 14, 14)),
    ("Conv1d", (16, 32, 3, 2, 1), (2, 16, 40)), ("Conv2d", (16, 32, 3, 2, 1, 1, 4), (2, 16, 20, 20)), ("Conv3d", (4, 8, 3), (1, 4, 8, 8, 8)),
    ("ConvTranspose1d", (16, 32, 4, 2, 1), (2, 16, 20)), ("ConvTranspose2d", (16, 32, 3, 2, 1, 1, 2), (2, 16, 10, 10)),
    ("ConvTranspose3d", (4, 8, 2, 2), (1, 4, 4, 4, 4)), ("Fold", ((8, 8), 2, 1, 0, 2), (2, 12, 16)), ("Unfold", (3, 1, 1, 2), (2, 4, 10, 10)),
    ("Upsample", (None, 2.0, "nearest"), (2, 4, 7, 7)), ("PixelShuffle", (2,), (2, 16, 5, 5)), ("PixelUnshuffle", (2,), (2, 4, 10, 10)),
    ("ChannelShuffle", (4,), (2, 16, 5, 5)), ("ReflectionPad1d", (2,), (2, 4, 10)), ("ReflectionPad2d", (2,), (2, 4, 10, 10)),
    ("ReplicationPad1d", (2,), (2, 4, 10)), ("ReplicationPad2d", (2,), (2, 4, 10, 10)), ("ReplicationPad3d", (1,), (2, 4, 5, 5, 5)),
    ("CircularPad2d", (2,), (2, 4, 10, 10)), ("ConstantPad2d", (2, 3.5), (2, 4, 10, 10)), ("ZeroPad2d", ((1, 2, 0, 1),), (2, 4, 10, 10)),
    ("LSTM", (32, 48, 2, True, True, 0.0, True), (2, 6, 32)), ("GRU", (32, 48, 1, True, True), (2, 6, 32)), ("RNN", (32, 48, 1, "relu", True, True), (2, 6, 32)),
    ("LSTMCell", (32, 48), (4, 32)), ("GRUCell", (32, 48), (4, 32)), ("RNNCell", (32, 48), (4, 32)), ("Flatten", (), (2, 3, 4)), ("Dropout", (), (4, 32)),
]
# Modules of a batch in training: running statistics are written, draws are made.
TRAINING = [
    ("BatchNorm2d", (16,), (4, 16, 8, 8)), ("Dropout", (0.1,), (4, 32)), ("AlphaDropout", (0.1,), (4, 32)), ("InstanceNorm1d", (16,), (2, 16, 20)),
]
# Loss, its arguments, what makes its operands.
LOSSES = [
    ("L1Loss", {}, lambda: (floats(4, 5), floats(4, 5))),
    ("MSELoss", {}, lambda: (floats(4, 5), floats(4, 5))),
    ("HuberLoss", {}, lambda: (floats(4, 5), floats(4, 5))),
    ("SmoothL1Loss", {"beta": 0.5}, lambda: (floats(4, 5), floats(4, 5))),
    ("SoftMarginLoss", {}, lambda: (floats(4, 5), floats(4, 5))),
    ("BCELoss", {}, lambda: (floats(4, 5), floats(4, 5))),
    ("BCEWithLogitsLoss", {}, lambda: (floats(4, 5), floats(4, 5))),
    ("KLDivLoss", {"reduction": "batchmean"}, lambda: (floats(4, 5), floats(4, 5))),
    ("PoissonNLLLoss", {"full": True}, lambda: (floats(4, 5), floats(4, 5))),
    ("GaussianNLLLoss", {}, lambda: (floats(4, 5), floats(4, 5), floats(4, 5))),
    ("CrossEntropyLoss", {"label_smoothing": 0.1, "ignore_index": 3}, lambda: (floats(8, 20), longs(8))),
    ("NLLLoss", {}, lambda: (floats(8, 20), longs(8))),
    ("NLLLoss2d", {}, lambda: (floats(2, 20, 6, 6), longs(2, 6, 6))),
    ("CTCLoss", {}, lambda: (floats(20, 2, 10), longs(2, 5), longs(2), longs(2))),
    ("HingeEmbeddingLoss", {}, lambda: (floats(4, 5), floats(4, 5))),
    ("CosineEmbeddingLoss", {"margin": 0.2}, lambda: (floats(4, 8), floats(4, 8), floats(4))),
    ("MarginRankingLoss", {"margin": 0.2}, lambda: (floats(4), floats(4), floats(4))),
    ("MultiMarginLoss", {}, lambda: (floats(4, 8), longs(4))),
    ("MultiLabelMarginLoss", {}, lambda: (floats(4, 8), longs(4, 8))),
    ("MultiLabelSoftMarginLoss", {}, lambda: (floats(4, 8), floats(4, 8))),
    ("TripletMarginLoss", {"swap": True}, lambda: (floats(4, 8), floats(4, 8), floats(4, 8))),
]
# Name, what is computed, what makes the operands.
FUNCTIONS = [
    ("interpolate-bilinear", lambda x: F.interpolate(x, size=(9, 11), mode="bilinear"), lambda: (floats(1, 4, 6, 6),)),
    ("interpolate-bilinear-corners", lambda x: F.interpolate(x, scale_factor=2.0, mode="bilinear", align_corners=True), lambda: (floats(1, 4, 6, 6),)),
    ("interpolate-bicubic", lambda x: F.interpolate(x, size=(9, 11), mode="bicubic"), lambda: (floats(1, 4, 6, 6),)),
    ("interpolate-linear", lambda x: F.interpolate(x, size=9, mode="linear"), lambda: (floats(1, 4, 6),)),
    ("interpolate-trilinear", lambda x: F.interpolate(x, size=(5, 6, 7), mode="trilinear"), lambda: (floats(1, 2, 4, 4, 4),)),
    ("interpolate-nearest-exact", lambda x: F.interpolate(x, size=(9, 11), mode="nearest-exact"), lambda: (floats(1, 4, 6, 6),)),
    ("interpolate-area", lambda x: F.interpolate(x, size=(4, 3), mode="area"), lambda: (floats(1, 4, 9, 9),)),
    ("interpolate-antialias", lambda x: F.interpolate(x, size=(4, 3), mode="bilinear", antialias=True), lambda: (floats(1, 4, 9, 9),)),
    ("grid-sample", lambda x, g: F.grid_sample(x, g, align_corners=False), lambda: (floats(1, 4, 9, 9), floats(1, 5, 6, 2))),
    ("affine-grid", lambda t: F.affine_grid(t, [2, 3, 6, 7], align_corners=False), lambda: (floats(2, 2, 3),)),
    ("cosine-similarity", lambda x, y: F.cosine_similarity(x, y, dim=-1), lambda: (floats(4, 16), floats(4, 16))),
    ("pairwise-distance", lambda x, y: F.pairwise_distance(x, y), lambda: (floats(4, 16), floats(4, 16))),
    ("cdist", lambda x, y: torch.cdist(x, y), lambda: (floats(2, 8, 16), floats(2, 9, 16))),
    ("bilinear", lambda x, y, w: F.bilinear(x, y, w), lambda: (floats(4, 8), floats(4, 6), floats(5, 8, 6))),
    ("normalize", lambda x: F.normalize(x, dim=1), lambda: (floats(4, 16),)),
    ("one-hot", lambda i: F.one_hot(i, 10), lambda: (longs(4, 6),)),
    ("attention-causal", lambda q, k, v: F.scaled_dot_product_attention(q, k, v, is_causal=True), lambda: (floats(2, 4, 16, 32),) * 3),
    ("attention-grouped", lambda q, k, v: F.scaled_dot_product_attention(q, k, v, enable_gqa=True),
     lambda: (floats(2, 8, 16, 32), floats(2, 2, 16, 32), floats(2, 2, 16, 32))),
    ("einsum", lambda x, y: torch.einsum("bhqd,bhkd->bhqk", x, y), lambda: (floats(2, 4, 8, 16), floats(2, 4, 9, 16))),
    ("fft", lambda x: torch.fft.irfft(torch.fft.rfft(x, dim=-1), n=32, dim=-1), lambda: (floats(2, 32),)),
    ("stft", lambda x, w: torch.stft(x, 64, 16, 64, w, return_complex=False, center=False), lambda: (floats(2, 512), floats(64))),
    ("rope-complex", lambda x, f: torch.view_as_real(torch.view_as_complex(x.reshape(2, 8, 4, 16, 2)) * torch.polar(torch.ones_like(f), f)).flatten(3),
     lambda: (floats(2, 8, 4, 32), floats(8, 1, 16))),
    ("histc", lambda x: torch.histc(x, bins=10, min=-1.0, max=1.0), lambda: (floats(100),)),
    ("bincount-scatter", lambda i, x: torch.zeros(10, device=x.device).scatter_add(0, i, x), lambda: (longs(50), floats(50))),
    ("scatter-reduce", lambda x, i, y: x.scatter_reduce(1, i, y, "amax"), lambda: (floats(4, 10), longs(4, 20), floats(4, 20))),
    ("index-add", lambda x, i, y: x.index_add(0, i, y), lambda: (floats(10, 4), longs(6), floats(6, 4))),
    ("topk", lambda x: tuple(torch.topk(x, 4, dim=-1)), lambda: (floats(4, 20),)),
    ("sort", lambda x: tuple(torch.sort(x, dim=-1, descending=True)), lambda: (floats(4, 20),)),
    ("cumulative", lambda x: (x.cumsum(1), x.cumprod(1), x.cummax(1).values, x.logcumsumexp(1)), lambda: (floats(4, 20),)),
    ("statistics", lambda x: (x.var(1), x.std(1, correction=0), x.median(1).values, x.logsumexp(1), x.prod(1), x.norm(dim=1)), lambda: (floats(4, 20),)),
    ("linear-algebra", lambda x: (x.diagonal(0, 1, 2), x.tril(), x.triu(1), torch.linalg.matrix_norm(x), x @ x.mT), lambda: (floats(4, 8, 8),)),
    ("special", lambda x: (torch.special.erfc(x), torch.lgamma(x), torch.digamma(x), torch.special.i0(x), torch.erfinv(x), torch.special.log_ndtr(x)),
     lambda: (floats(4, 20),)),
    ("trigonometry", lambda x: (x.tan(), x.asin(), x.acos(), x.atan(), x.sinh(), x.cosh(), x.asinh(), x.acosh(), x.atanh(), x.atan2(x.cos())),
     lambda: (floats(4, 20),)),
    ("rounding", lambda x: (x.floor(), x.ceil(), x.trunc(), x.round(), x.frac(), x.fmod(0.3), x.remainder(0.3), x.sign(), x.round(decimals=2)),
     lambda: (floats(4, 20),)),
    ("integers", lambda i: (i & 3, i | 5, i ^ 9, ~i, i << 2, i >> 1, i // 3, i % 7, torch.gcd(i, i + 4)), lambda: (longs(4, 20),)),
    ("in-place", lambda x: x.clone().add_(1.0).mul_(2.0).clamp_(min=0.5).relu_(), lambda: (floats(4, 20),)),
    ("write-through-view", lambda x, y: _written(x, y), lambda: (floats(4, 20), floats(2, 20))),
]


def _written(x, y):
    out = torch.zeros_like(x)
    out[1:3] = y
    out[:, 0] += 1.0
    return out.masked_fill_(x > 0, 2.0)


class Call(nn.Module):
    """A function as a module."""

    def __init__(self, function):
        super().__init__()
        self.function = function

    def forward(self, *args):
        return self.function(*args)


class Choice(nn.Module):
    """Control flow that stays in the graph."""

    def forward(self, x):
        return torch.cond(x.sum() > 0, lambda x: x.sin(), lambda x: x.cos() + 1, (x,))


class Loop(nn.Module):
    def forward(self, x):
        from torch._higher_order_ops.while_loop import while_loop

        return while_loop(lambda i, x: i < 5, lambda i, x: (i + 1, x * 2), (torch.zeros((), dtype=torch.long, device=x.device), x))


def entry(name, make):
    return Entry(f"nn-{name}", "torch.nn", make)


def module(name, kind, args, shape, training=False):
    kind = getattr(nn, kind)
    return entry(name, lambda: (kind(*args).train(training), (floats(*shape),), {}))


def entries():
    for name in ACTIVATIONS:
        yield module(name, name, {"Softmax": (-1,), "LogSoftmax": (-1,), "Softmin": (-1,)}.get(name, ()), (4, 32))
    for name, args, shape in PLAIN:
        yield module(name, name, args, shape)
    for name, args, shape in TRAINING:
        yield module(f"{name}-training", name, args, shape, training=True)
    for name, arguments, operands in LOSSES:
        yield loss(name, arguments, operands)
    for name, function, operands in FUNCTIONS:
        yield called(name, function, operands)
    yield entry("Embedding", lambda: (nn.Embedding(100, 32, padding_idx=0), (longs(4, 10),), {}))
    yield entry("EmbeddingBag", lambda: (nn.EmbeddingBag(100, 32, mode="mean"), (longs(4, 10),), {}))
    yield entry("EmbeddingBag-offsets", lambda: (nn.EmbeddingBag(100, 32, mode="sum"), (longs(40), longs(4)), {}))
    yield entry("Bilinear", lambda: (nn.Bilinear(8, 6, 5), (floats(4, 8), floats(4, 6)), {}))
    yield entry("MultiheadAttention", lambda: (nn.MultiheadAttention(64, 4, batch_first=True), (floats(2, 10, 64),) * 3, {}))
    yield entry("TransformerEncoderLayer", lambda: (nn.TransformerEncoderLayer(64, 4, 128, batch_first=True), (floats(2, 10, 64),), {}))
    yield entry("Transformer", lambda: (nn.Transformer(64, 4, 2, 2, 128, batch_first=True), (floats(2, 10, 64), floats(2, 7, 64)), {}))
    yield entry("MaxUnpool2d", lambda: (nn.MaxUnpool2d(2), (floats(1, 4, 5, 5), longs(1, 4, 5, 5)), {}))
    yield entry("cond", lambda: (Choice(), (floats(4, 8),), {}))
    yield entry("while-loop", lambda: (Loop(), (floats(4, 8),), {}))


def loss(name, arguments, operands):
    kind = getattr(nn, name.removesuffix("2d"))
    return entry(name, lambda: (kind(**arguments), operands(), {}))


def called(name, function, operands):
    return entry(name, lambda: (Call(function), operands(), {}))
