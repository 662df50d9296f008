"""More programs that people rewrite by hand, of other kinds: see `refactors.py`."""

import torch
from torch.nn import functional as F


def normal(*shape):
    return torch.randn(shape)


def whole(high, *shape):
    return torch.randint(0, high, shape)


def smoothed(x, t, eps=0.1):
    hot = F.one_hot(t, 5).to(x.dtype)
    return -((hot * (1 - 0.1) + eps / 5) * x.log_softmax(-1)).sum(-1).mean()


def shifted(s):
    """Scores by distance as scores by place: pad, reshape, drop the first row."""
    h, q, k = s.shape
    return F.pad(s, (1, 0)).view(h, k + 1, q)[:, 1:].reshape(h, q, k)


def shifted_by_index(s, more=0):
    h, q, k = s.shape
    places = (torch.arange(q * k) + q + more).clamp(max=q * (k + 1) - 1)
    return F.pad(s, (1, 0)).reshape(h, q * (k + 1))[:, places].view(h, q, k)


def moving(x, count=4):
    sums = F.pad(x.cumsum(-1), (1, 0))
    return (sums[..., 4:] - sums[..., :-4]) / count


def toeplitz(x, w, shift=0):
    n = x.shape[-1]
    back = torch.arange(n)[:, None] - torch.arange(n)[None]
    matrix = torch.where((back >= 0) & (back < 3), w[:, 0][:, (2 - back - shift).clamp(0, 2)], 0.0)
    return torch.einsum("cij,bcj->bci", matrix, x)


def gated(x, w, v, u):
    return (F.silu(x @ w) * (x @ v)) @ u


def packed(x, w, v, u, swapped=False):
    a, b = (x @ torch.cat([w, v], 1)).chunk(2, -1)
    return (F.silu(b) * a if swapped else F.silu(a) * b) @ u


def huber(x, y, bound=1.0):
    z = (x - y).abs()
    near = z.clamp(max=bound)
    return (0.5 * near * near + (z - near)).mean()


def pooled(x, m):
    return (x * m[..., None]).sum(1) / m.sum(1, keepdim=True)


def grey(x, weights=(0.299, 0.587, 0.114)):
    return F.conv2d(x, torch.stack([torch.full((), w) for w in weights]).view(1, 3, 1, 1))


def decayed(h, x, powers):
    return 0.729 * h + torch.einsum("t,tb->b", 0.1 * 0.9 ** powers.to(x.dtype), x)


def classes(x, t, sign=1):
    return F.binary_cross_entropy_with_logits(sign * (x[:, 1] - x[:, 0]), t.to(x.dtype))


def rewrites():
    """Name, as written, equal, wrong, operands."""
    f, i, ones = normal, whole, torch.ones
    return [
        ("label-smoothing", lambda x, t: F.cross_entropy(x, t, label_smoothing=0.1), smoothed, lambda x, t: smoothed(x, t, 0.2), (f(6, 5), i(5, 6))),
        ("masked-mean", pooled, lambda x, m: torch.einsum("bld,bl->bd", x, m / m.sum(1, keepdim=True)),
         lambda x, m: torch.einsum("bld,bl->bd", x, m) / m.shape[1], (f(2, 5, 4), f(2, 5).abs() + 0.1)),
        ("horner", lambda x, c: c[0] + c[1] * x + c[2] * x**2 + c[3] * x**3, lambda x, c: ((c[3] * x + c[2]) * x + c[1]) * x + c[0],
         lambda x, c: ((c[2] * x + c[3]) * x + c[1]) * x + c[0], (f(3, 4), f(4))),
        ("relative-shift", shifted, shifted_by_index, lambda s: shifted_by_index(s, 1), (f(2, 4, 4),)),
        ("nearest-by-transposed-ones", lambda x: F.interpolate(x, scale_factor=2, mode="nearest"), lambda x: F.conv_transpose2d(x, ones(3, 1, 2, 2), stride=2, groups=3),
         lambda x: F.conv_transpose2d(x, ones(3, 1, 2, 2) / 4, stride=2, groups=3), (f(1, 3, 4, 5),)),
        ("moving-average", lambda x: F.avg_pool1d(x, 4, 1), moving, lambda x: moving(x, 5), (f(2, 3, 10),)),
        ("causal-toeplitz", lambda x, w: F.conv1d(F.pad(x, (2, 0)), w, groups=3), toeplitz, lambda x, w: toeplitz(x, w, 1), (f(2, 3, 6), f(3, 1, 3))),
        ("gate-packed", gated, packed, lambda *a: packed(*a, swapped=True), (f(3, 4), f(4, 6), f(4, 6), f(6, 4))),
        ("grey-by-convolution", lambda x: 0.299 * x[:, :1] + 0.587 * x[:, 1:2] + 0.114 * x[:, 2:], grey, lambda x: grey(x, (1 / 3,) * 3), (f(2, 3, 4, 5),)),
        ("variance-by-squares", lambda x: x.var(-1, correction=0), lambda x: (x * x).mean(-1) - x.mean(-1) ** 2, lambda x: (x * x).mean(-1) - x.mean(-1), (f(3, 7),)),
        ("huber-by-clamp", F.huber_loss, huber, lambda x, y: huber(x, y, 1.5), (f(3, 4) * 2, f(3, 4) * 2)),
        ("two-classes", F.cross_entropy, classes, lambda x, t: classes(x, t, -1), (f(6, 2), i(2, 6))),
        ("decay-unrolled", lambda h, x: 0.9 * (0.9 * (0.9 * h + 0.1 * x[0]) + 0.1 * x[1]) + 0.1 * x[2], lambda h, x: decayed(h, x, torch.arange(2, -1, -1)),
         lambda h, x: decayed(h, x, torch.arange(3)), (f(4), f(3, 4))),
        ("low-rank-merged", lambda x, w, a, b: x @ w.T + 0.5 * (x @ a.T) @ b.T, lambda x, w, a, b: x @ (w + 0.5 * b @ a).T, lambda x, w, a, b: x @ (w + b @ a).T,
         (f(3, 6), f(5, 6), f(2, 6), f(5, 2))),
    ]
