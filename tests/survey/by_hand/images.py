"""Images: windows, patches, sizes, norms and kernels, as people rewrite them."""

import torch
from torch.nn import functional as F

from .operands import normal


def partitioned(x):
    b, h, w, c = x.shape
    return x.view(b, h // 2, 2, w // 3, 3, c).permute(0, 1, 3, 2, 4, 5).reshape(-1, 6, c)


def partitioned_by_unfold(x, turned=False):
    y = x.unfold(1, 2, 2).unfold(2, 3, 3)
    return y.permute(0, 1, 2, 5, 4, 3).reshape(-1, 6, x.shape[-1]) if turned else y.movedim(3, -1).flatten(3, 4).flatten(0, 2)


def rolled_back(x):
    y = torch.roll(x, (-1, -1), (1, 2)).square()
    return torch.roll(y, (1, 1), (1, 2)) + x


def rolled_by_slices(x, at=1):
    y = torch.cat([x[:, 1:], x[:, :1]], 1)
    y = torch.cat([y[:, :, 1:], y[:, :, :1]], 2) ** 2
    y = torch.cat([y[:, :, -1:], y[:, :, :-1]], 2)
    return x + torch.cat([y[:, -at:], y[:, :-at]], 1)


def patched(x, w, b, token, place):
    y = F.conv2d(x, w, b, stride=2).flatten(2).transpose(1, 2)
    return torch.cat([token.expand(2, -1, -1), y], 1) + place


def patched_by_unfold(x, w, b, token, place, shift=1):
    """The place goes to each part before they are put together."""
    y = F.unfold(x, 2, stride=2).mT @ w.flatten(1).T + (b + place[:, shift:shift + 4])
    return torch.cat([(token + place[:, :1]).expand(2, 1, 5), y], 1)


def space_to_depth(x, w):
    return F.conv2d(F.pixel_unshuffle(x, 2), w)


def space_to_depth_by_slices(x, w, turned=False):
    parts = [x[..., i::2, j::2] for i in range(2) for j in range(2)]
    parts = [parts[k] for k in (0, 2, 1, 3)] if turned else parts
    return torch.einsum("bchw,oc->bohw", torch.stack(parts, 2).flatten(1, 2), w[..., 0, 0])


def doubled(x):
    return F.interpolate(x, scale_factor=2, mode="nearest")


def doubled_by_expand(x, rows=False):
    b, c, h, w = x.shape
    y = x[:, :, :, None, :, None].expand(b, c, h, 2, w, 2)
    return y.transpose(3, 4).reshape(b, c, 2 * h, 2 * w) if rows else y.reshape(b, c, 2 * h, 2 * w)


def aligned(x):
    return F.interpolate(x, size=(7, 5), mode="bilinear", align_corners=True)


def aligned_by_tents(x, new=7):
    """A row of weights is a tent about its place."""
    def tents(old, size, last):
        place = torch.arange(size) * ((old - 1) / (last - 1))
        return F.relu(1 - (place[:, None] - torch.arange(old)[None]).abs())

    return torch.einsum("ih,jw,bchw->bcij", tents(4, 7, new), tents(3, 5, 5), x)


def halved(x):
    return F.avg_pool2d(F.avg_pool2d(x, 2), 2)


def halved_at_once(x, kernel=(4, 4)):
    return F.avg_pool2d(x, kernel) if kernel == (4, 4) else F.avg_pool2d(x[..., 1:, :], (3, 4), stride=4)


def squeezed(x):
    return F.adaptive_avg_pool2d(x, 1).flatten(1)


def squeezed_by_product(x, parts=20):
    return (x.flatten(2) @ torch.ones(20, 1)).squeeze(-1) / parts


def grouped(x, w, b):
    return F.conv2d(x, w, b, padding=1, groups=2)


def grouped_by_parts(x, w, b, swapped=False):
    x, y = x.chunk(2, 1)
    x, y = (y, x) if swapped else (x, y)
    return torch.cat([F.conv2d(x, w[:3], b[:3], padding=1), F.conv2d(y, w[3:], b[3:], padding=1)], 1)


def shortened(x, w):
    return F.conv1d(F.pad(x, (2, 0)), w[:, None], groups=3)


def shortened_by_windows(x, w, flipped=False):
    y = F.pad(x, (2, 0)).unfold(-1, 3, 1)
    return (y * (w.flip(-1) if flipped else w)[:, None]).sum(-1)


def pointwise(x, w, b):
    return F.conv1d(x, w, b)


def pointwise_by_linear(x, w, b, swapped=False):
    y = F.linear(x.transpose(1, 2), w.squeeze(-1), b)
    return y.reshape(2, 4, 5) if swapped else y.mT


def standardised(x, w, g):
    v, m = torch.var_mean(w, dim=(1, 2, 3), correction=0, keepdim=True)
    return F.conv2d(x, (w - m) / torch.sqrt(v + 1e-5) * g[:, None, None, None])


def standardised_by_norm(x, w, g, eps=1e-5):
    y = F.layer_norm(w.flatten(1), (12,), eps=eps) * g.unsqueeze(1)
    return F.conv2d(x, y.view_as(w))


def normed_first(x, w, b, g, h):
    """A batch norm in front of a convolution without padding goes into its weight."""
    return F.conv2d(x * g[:, None, None] + h[:, None, None], w, b)


def normed_first_folded(x, w, b, g, h, shifted=True):
    return F.conv2d(x, w * g[None, :, None, None], b + (w.sum((2, 3)) @ h if shifted else 0))


def demodulated(x, w, s):
    y = w * s[:, None, :, None, None]
    y = y * (y.square().sum((2, 3, 4), keepdim=True) + 1e-8).rsqrt()
    return F.conv2d(x.reshape(1, 6, 4, 4), y.reshape(8, 3, 3, 3), groups=2).view(2, 4, 2, 2)


def demodulated_after(x, w, s, squares=True):
    """The styles scale the input, and their norm the output."""
    y = F.conv2d(x * s[..., None, None], w)
    norm = s.square() @ w.square().sum((2, 3)).T if squares else (s @ w.sum((2, 3)).T).square()
    return y * (norm + 1e-8).rsqrt()[..., None, None]


def positions(h, w):
    rate = 100 ** (-torch.arange(2) / 2)
    y, x = torch.arange(h)[:, None] * rate, torch.arange(w)[:, None] * rate
    y = torch.cat([y.sin(), y.cos()], -1)[:, None].expand(h, w, 4)
    x = torch.cat([x.sin(), x.cos()], -1)[None].expand(h, w, 4)
    return torch.cat([y, x], -1)


def placed(x):
    return x + positions(3, 4).permute(2, 0, 1)


def placed_flat(x, order=("y", "x")):
    at = torch.arange(12)
    row, column = torch.div(at, 4, rounding_mode="floor"), at % 4
    parts = {"y": row, "x": column}
    turns = [parts[k][:, None] / torch.tensor([1.0, 10.0]) for k in order]
    table = torch.cat([f(t) for t in turns for f in (torch.sin, torch.cos)], -1)
    return (x.flatten(2) + table.T).view_as(x)


def first_order(x, w):
    return x + torch.einsum("bhnk,bhkd->bhnd", (x @ x.mT).softmax(-1), x) * w


def first_order_by_matmul(x, w, centred=False):
    p = torch.softmax(torch.matmul(x, x.transpose(2, 3)), -1)
    return torch.addcmul(x, p @ (x - x.mean(2, keepdim=True) if centred else x), w)


def sobel(x):
    k = torch.tensor([[1.0, 0.0, -1.0], [2.0, 0.0, -2.0], [1.0, 0.0, -1.0]])
    y = F.conv2d(x, torch.stack([k, k.T])[:, None])
    return (y.square().sum(1) + 1e-6).sqrt()


def sobel_by_differences(x, middle=2):
    x = x[:, 0]
    across = lambda t: t[:, :-2] + middle * t[:, 1:-1] + t[:, 2:]
    dx = across(x[..., :-2] - x[..., 2:])
    dy = across((x[:, :-2] - x[:, 2:]).mT).mT
    return torch.sqrt(dx * dx + dy * dy + 1e-6)


def clipped_boxes(b):
    return torch.stack([b[:, 0].clamp(0, 8), b[:, 1].clamp(0, 6), b[:, 2].clamp(0, 8), b[:, 3].clamp(0, 6)], -1)


def clipped_boxes_at_once(b, high=(8.0, 6.0)):
    return torch.minimum(b.relu(), torch.tensor(high).repeat(2))


def warped(x, angle):
    """Turned by a quarter."""
    return x.rot90(1, (2, 3)) * angle


def warped_by_flip(x, angle, dim=2):
    return angle * x.transpose(2, 3).flip(dim)


def crops(x):
    return torch.stack([x[:, a:a + 3, b:b + 3] for a, b in ((0, 1), (1, 2))])


def crops_by_index(x):
    rows = torch.tensor([0, 1])[:, None] + torch.arange(3)
    columns = torch.tensor([1, 2])[:, None] + torch.arange(3)
    return x[:, rows[:, :, None], columns[:, None]].transpose(0, 1)


def rewrites():
    f = normal
    return [
        ("windows-by-unfold", partitioned, partitioned_by_unfold, lambda x: partitioned_by_unfold(x, turned=True), (f(2, 4, 6, 3),)),
        ("rolls-by-slices", rolled_back, rolled_by_slices, lambda x: rolled_by_slices(x, at=2), (f(2, 4, 5, 3),)),
        ("places-to-parts", patched, patched_by_unfold, lambda *a: patched_by_unfold(*a, shift=0), (f(2, 3, 4, 4), f(5, 3, 2, 2), f(5), f(1, 1, 5), f(1, 5, 5))),
        ("depth-by-slices", space_to_depth, space_to_depth_by_slices, lambda *a: space_to_depth_by_slices(*a, turned=True), (f(2, 3, 4, 6), f(5, 12, 1, 1))),
        ("nearest-by-expand", doubled, doubled_by_expand, lambda x: doubled_by_expand(x, rows=True), (f(2, 3, 3, 4),)),
        ("bilinear-by-tents", aligned, aligned_by_tents, lambda x: aligned_by_tents(x, new=8), (f(2, 3, 4, 3),)),
        ("means-at-once", halved, halved_at_once, lambda x: halved_at_once(x, kernel=(3, 4)), (f(2, 3, 8, 8),)),
        ("squeeze-by-ones", squeezed, squeezed_by_product, lambda x: squeezed_by_product(x, parts=16), (f(2, 3, 4, 5),)),
        ("groups-by-parts", grouped, grouped_by_parts, lambda *a: grouped_by_parts(*a, swapped=True), (f(2, 4, 5, 5), f(6, 2, 3, 3), f(6))),
        ("short-filter-by-windows", shortened, shortened_by_windows, lambda *a: shortened_by_windows(*a, flipped=True), (f(2, 3, 6), f(3, 3))),
        ("pointwise-by-linear", pointwise, pointwise_by_linear, lambda *a: pointwise_by_linear(*a, swapped=True), (f(2, 3, 5), f(4, 3, 1), f(4))),
        ("kernel-by-layer-norm", standardised, standardised_by_norm, lambda *a: standardised_by_norm(*a, eps=1e-2), (f(2, 3, 5, 5), f(4, 3, 2, 2), f(4))),
        ("affine-into-kernel", normed_first, normed_first_folded, lambda *a: normed_first_folded(*a, shifted=False), (f(2, 3, 5, 5), f(4, 3, 2, 2), f(4), f(3), f(3))),
        ("demodulation-after", demodulated, demodulated_after, lambda *a: demodulated_after(*a, squares=False), (f(2, 3, 4, 4), f(4, 3, 3, 3), f(2, 3))),
        ("places-flat", placed, placed_flat, lambda x: placed_flat(x, order=("x", "y")), (f(2, 8, 3, 4),)),
        ("mixing-by-addcmul", first_order, first_order_by_matmul, lambda *a: first_order_by_matmul(*a, centred=True), (f(2, 2, 5, 4), f(4))),
        ("edges-by-differences", sobel, sobel_by_differences, lambda x: sobel_by_differences(x, middle=1), (f(2, 1, 6, 5),)),
        ("boxes-clipped-at-once", clipped_boxes, clipped_boxes_at_once, lambda b: clipped_boxes_at_once(b, high=(6.0, 8.0)), (f(5, 4) * 8,)),
        ("quarter-by-flip", warped, warped_by_flip, lambda *a: warped_by_flip(*a, dim=3), (f(2, 3, 4, 4), f(1)[0])),
        ("crops-by-index", crops, crops_by_index, lambda x: crops_by_index(x.mT), (f(3, 5, 5),)),
    ]
