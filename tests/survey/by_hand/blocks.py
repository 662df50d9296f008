"""Blocks of networks for images, points and graphs, in forms that people write differently."""

import math

import torch
from torch.nn import functional as F

from .operands import normal, whole


def excited(x, w, b, u, c):
    s = F.adaptive_avg_pool2d(x, 1)
    s = F.relu(F.conv2d(s, w[..., None, None], b))
    return x * torch.sigmoid(F.conv2d(s, u[..., None, None], c))


def excited_flat(x, w, b, u, c, dims=(2, 3)):
    s = F.linear(F.linear(x.mean(dims), w, b).clamp(min=0), u, c)
    return torch.einsum("bchw,bc->bchw", x, s.sigmoid())


def neighbours(x, w):
    """Attention over channels by a convolution along them."""
    return x * F.conv1d(x.mean((2, 3))[:, None], w, padding=1).sigmoid()[:, 0, :, None, None]


def neighbours_by_windows(x, w, turned=False):
    s = F.pad(x.flatten(2).mean(-1), (1, 1)).unfold(1, 3, 1)
    return x * torch.sigmoid(s @ (w.flip(-1) if turned else w)[0, 0])[..., None, None]


def focused(x):
    return torch.cat([x[..., ::2, ::2], x[..., 1::2, ::2], x[..., ::2, 1::2], x[..., 1::2, 1::2]], 1)


def focused_by_unshuffle(x, order=(1, 0)):
    y = F.pixel_unshuffle(x, 2).unflatten(1, (x.shape[1], 2, 2))
    return y.permute(0, 2 + order[0], 2 + order[1], 1, 4, 5).flatten(1, 3)


def merged_patches(x, w):
    y = torch.cat([x[:, 0::2, 0::2], x[:, 1::2, 0::2], x[:, 0::2, 1::2], x[:, 1::2, 1::2]], -1)
    return y @ w.T


def merged_patches_by_convolution(x, w, turned=False):
    k = w.view(w.shape[0], 2, 2, x.shape[-1])
    k = k.permute(0, 3, 1, 2) if turned else k.permute(0, 3, 2, 1)
    return F.conv2d(x.permute(0, 3, 1, 2), k, stride=2).permute(0, 2, 3, 1)


def channels_last(x, w, b, u, v):
    y = F.layer_norm(x.permute(0, 2, 3, 1), (4,), w, b, 1e-6)
    return x + (F.gelu(y @ u.T) @ v.T).permute(0, 3, 1, 2)


def channels_first(x, w, b, u, v, eps=1e-6, centre=True):
    m = x.mean(1, keepdim=True)
    y = (x - m) / ((x - m).pow(2).mean(1, keepdim=True) + eps).sqrt() if centre else x / (x.pow(2).mean(1, keepdim=True) + eps).sqrt()
    y = w[:, None, None] * y + b[:, None, None]
    return x + F.conv2d(F.gelu(F.conv2d(y, u[..., None, None])), v[..., None, None])


def layer_scaled(x, w, b, g):
    return x + g * F.linear(F.silu(x), w, b)


def layer_scaled_folded(x, w, b, g, bias=True):
    return F.linear(x * torch.sigmoid(x), g[:, None] * w, g * b if bias else b) + x


def generalised_mean(x):
    return F.avg_pool2d(x.clamp(min=1e-6).pow(3), (4, 5)).pow(1 / 3)


def generalised_mean_by_sum(x, power=3):
    y = torch.maximum(x, torch.tensor(1e-6))
    return ((y * y * y).sum((2, 3), keepdim=True) / 20) ** (1 / power)


def blurred(x):
    k = torch.outer(torch.tensor([1.0, 2.0, 1.0]), torch.tensor([1.0, 2.0, 1.0])) / 16
    return F.conv2d(F.pad(x, (1, 1, 1, 1), mode="reflect"), k.expand(3, 1, 3, 3), stride=2, groups=3)


def blurred_in_two(x, middle=2.0):
    y = F.pad(x, (1, 1, 1, 1), mode="reflect")
    y = (y[..., :-2, :] + middle * y[..., 1:-1, :] + y[..., 2:, :])[..., ::2, :] / 4
    return (y[..., :-2] + 2 * y[..., 1:-1] + y[..., 2:])[..., ::2] / 4


def variation(x):
    return (x[..., 1:, :] - x[..., :-1, :]).abs().mean() + (x[..., :, 1:] - x[..., :, :-1]).abs().mean()


def variation_by_diff(x, dims=(-2, -1)):
    return sum(torch.diff(x, dim=d).abs().flatten().mean() for d in dims)


def branches(x, w, u):
    return F.conv2d(x, w, padding=1) + F.conv2d(x, u) + x


def branches_merged(x, w, u, identity=1.0):
    eye = identity * torch.eye(3)[..., None, None]
    return F.conv2d(x, w + F.pad(u + eye, (1, 1, 1, 1)), padding=1)


def spatial(x, w):
    return x * torch.sigmoid(F.conv2d(torch.cat([x.max(1, keepdim=True).values, x.mean(1, keepdim=True)], 1), w, padding=1))


def spatial_apart(x, w, swapped=False):
    a, b = x.amax(1, keepdim=True), x.sum(1, keepdim=True) / x.shape[1]
    a, b = (b, a) if swapped else (a, b)
    return x * (F.conv2d(a, w[:, :1], padding=1) + F.conv2d(b, w[:, 1:], padding=1)).sigmoid()


def coordinates(x, w):
    b, _, h, v = x.shape
    rows, columns = torch.linspace(-1, 1, h), torch.linspace(-1, 1, v)
    grid = torch.stack(torch.meshgrid(rows, columns, indexing="ij")).expand(b, 2, h, v)
    return F.conv2d(torch.cat([x, grid], 1), w)


def coordinates_apart(x, w, centre=1.0):
    h, v = x.shape[-2:]
    rows, columns = (2 * torch.arange(n) / (n - 1) - centre for n in (h, v))
    return F.conv2d(x, w[:, :-2]) + w[:, -2] * rows[:, None] + w[:, -1] * columns[None]


def shuffled_channels(x, w):
    y = x.view(2, 2, 3, 4, 4).transpose(1, 2).reshape(2, 6, 4, 4)
    return F.conv2d(y, w)


def shuffled_kernel(x, w, order=(0, 2, 4, 1, 3, 5)):
    return F.conv2d(x, w[:, torch.tensor(order)])


def patch_mean(x):
    return F.layer_norm(x[:, 1:].mean(1), (4,))


def patch_mean_by_sum(x, count=5):
    return F.layer_norm((x.sum(1) - x[:, 0]) / count, (4,), eps=1e-5)


def radial(d):
    centres = torch.linspace(0, 4, 5)
    return torch.exp(-0.5 * (d[:, None] - centres) ** 2) * (0.5 * (torch.cos(d * math.pi / 4) + 1) * (d < 4))[:, None]


def radial_by_square(d, turn=8):
    c = torch.arange(5).float()
    cut = torch.where(d >= 4, 0.0, torch.cos(d * math.pi / turn) ** 2)
    return torch.exp(d[:, None] * c - 0.5 * d.square()[:, None] - 0.5 * c * c) * cut[:, None]


def normed_graph(x, a, w):
    a = a + torch.eye(5)
    d = a.sum(1).rsqrt()
    return torch.diag(d) @ a @ torch.diag(d) @ (x @ w)


def normed_graph_by_rows(x, a, w, loops=1.0):
    d = 1 / (a.sum(-1) + 1).sqrt()
    y = d[:, None] * (x @ w)
    return d[:, None] * (a @ y + loops * y)


def moved_points(h, x, w):
    d = x[:, None] - x[None]
    m = torch.tanh((h @ w)[:, None] + (h @ w)[None] - d.square().sum(-1, keepdim=True))
    return x + (d * m).mean(1)


def moved_points_by_product(h, x, w, sign=1):
    y = h @ w
    m = torch.tanh(y[:, 0, None] + y[None, :, 0] - (x[:, None] - x[None]).norm(dim=-1) ** 2)
    return x + sign * (x * m.sum(1, keepdim=True) - m @ x) / x.shape[0]


def crossed(x, w, b):
    y = x[:, :, None] @ x[:, None] @ w[:, None]
    return y[..., 0] + b + x


def crossed_by_dot(x, w, b, residual=1):
    return x * torch.einsum("bd,d->b", x, w)[:, None] + b + residual * x


def pairs_of_fields(x, v):
    s = x @ v
    return 0.5 * (s * s - (x * x) @ (v * v)).sum(-1)


def pairs_of_fields_by_gram(x, v, diagonal=1):
    g = (v @ v.T).triu(diagonal)
    return torch.einsum("bi,ij,bj->b", x, g, x)


def turned_frame(x):
    a, b = x[:, :3], x[:, 3:]
    u = F.normalize(a, dim=-1)
    v = F.normalize(b - (u * b).sum(-1, keepdim=True) * u, dim=-1)
    return torch.stack([u, v, torch.linalg.cross(u, v)], -1)


def turned_frame_by_hand(x, sign=1):
    a, b = x.chunk(2, -1)
    length = lambda t: torch.sqrt(torch.einsum("nd,nd->n", t, t)).clamp(min=1e-12)[:, None]
    u = a / length(a)
    w = b - torch.einsum("nd,nd->n", u, b)[:, None] * u
    v = w / length(w)
    p, q = u.unbind(-1), v.unbind(-1)
    n = torch.stack([p[1] * q[2] - p[2] * q[1], p[2] * q[0] - p[0] * q[2], sign * (p[0] * q[1] - p[1] * q[0])], -1)
    return torch.stack([u, v, n], 2)


def bilinear(x, y, w, b):
    return F.bilinear(x, y, w, b)


def bilinear_by_outer(x, y, w, b, turned=False):
    p = (y[:, :, None] * x[:, None] if turned else x[:, :, None] * y[:, None]).flatten(1)
    return p @ w.flatten(1).T + b


def rewrites():
    f = normal
    image = f(2, 3, 6, 6)
    return [
        ("excitation-flat", excited, excited_flat, lambda *a: excited_flat(*a[:3], a[3].flip(0), a[4]), (f(2, 6, 4, 4), f(3, 6), f(3), f(6, 3), f(6))),
        ("channels-by-windows", neighbours, neighbours_by_windows, lambda *a: neighbours_by_windows(*a, turned=True), (f(2, 6, 3, 4), f(1, 1, 3))),
        ("focus-by-unshuffle", focused, focused_by_unshuffle, lambda x: focused_by_unshuffle(x, (0, 1)), (f(2, 3, 4, 6),)),
        ("patches-merged-by-convolution", merged_patches, merged_patches_by_convolution, lambda *a: merged_patches_by_convolution(*a, turned=True), (f(1, 4, 6, 3), f(5, 12))),
        ("channels-first", channels_last, channels_first, lambda *a: channels_first(*a, centre=False), (f(2, 4, 3, 5), f(4), f(4), f(6, 4), f(4, 6))),
        ("layer-scale-folded", layer_scaled, layer_scaled_folded, lambda *a: layer_scaled_folded(*a, bias=False), (f(3, 4), f(4, 4), f(4), f(4))),
        ("generalised-mean-by-sum", generalised_mean, generalised_mean_by_sum, lambda x: generalised_mean_by_sum(x, 2), (f(2, 3, 4, 5),)),
        ("blur-in-two", blurred, blurred_in_two, lambda x: blurred_in_two(x, 1.5), (image,)),
        ("variation-by-diff", variation, variation_by_diff, lambda x: variation_by_diff(x, (-1, -1)), (f(2, 3, 4, 5),)),
        ("branches-merged", branches, branches_merged, lambda *a: branches_merged(*a, identity=0.0), (f(2, 3, 5, 5), f(3, 3, 3, 3), f(3, 3, 1, 1))),
        ("spatial-apart", spatial, spatial_apart, lambda *a: spatial_apart(*a, swapped=True), (f(2, 4, 5, 5), f(1, 2, 3, 3))),
        ("coordinates-apart", coordinates, coordinates_apart, lambda *a: coordinates_apart(*a, centre=0.5), (f(2, 3, 4, 5), f(1, 5, 1, 1))),
        ("channel-shuffle-folded", shuffled_channels, shuffled_kernel, lambda *a: shuffled_kernel(*a, order=(0, 3, 1, 4, 2, 5)), (f(2, 6, 4, 4), f(5, 6, 1, 1))),
        ("patch-mean-by-sum", patch_mean, patch_mean_by_sum, lambda x: patch_mean_by_sum(x.flip(1)), (f(2, 6, 4),)),
        ("radial-by-square", radial, radial_by_square, lambda d: radial_by_square(d, 7), (torch.rand(6) * 5,)),
        ("graph-by-rows", normed_graph, normed_graph_by_rows, lambda *a: normed_graph_by_rows(*a, loops=0.0), (f(5, 4), whole(2, 5, 5).float(), f(4, 3))),
        ("points-by-product", moved_points, moved_points_by_product, lambda *a: moved_points_by_product(*a, sign=-1), (f(4, 5), f(4, 3), f(5, 1))),
        ("cross-by-dot", crossed, crossed_by_dot, lambda *a: crossed_by_dot(*a, residual=2), (f(3, 5), f(5), f(5))),
        ("fields-by-gram", pairs_of_fields, pairs_of_fields_by_gram, lambda *a: pairs_of_fields_by_gram(*a, diagonal=0), (f(3, 5), f(5, 4))),
        ("frame-by-hand", turned_frame, turned_frame_by_hand, lambda x: turned_frame_by_hand(x, -1), (f(4, 6),)),
        ("bilinear-by-outer", bilinear, bilinear_by_outer, lambda *a: bilinear_by_outer(*a, turned=True), (f(3, 4), f(3, 4), f(2, 4, 4), f(2))),
    ]
