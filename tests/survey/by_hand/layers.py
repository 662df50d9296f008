"""Norms, convolutions, resampling, quantised and low-rank layers, as people rewrite them."""

import math

import torch
from torch.nn import functional as F

from .operands import normal, whole


def offset_norm_by_hand(x, w, inside=True):
    square = x.square().mean(-1, keepdim=True)
    y = x / torch.sqrt(square + 1e-2) if inside else x / (torch.sqrt(square) + 1e-2)
    return y + y * w


def offset_norm_large(x, w):
    return F.rms_norm(x, (6,), 1 + w, 1e-2)


def layer_norm(x, w, b):
    return F.layer_norm(x, (6,), w, b)


def centred_norm(x, w, b, parts=6):
    centred = x @ (torch.eye(6) - torch.full((6, 6), 1 / parts))
    return F.rms_norm(centred, (6,), w, 1e-5) + b


def one_group(x, w, b):
    return F.group_norm(x, 1, w, b)


def one_group_as_layer(x, w, b, dims=(1, 2, 3)):
    shape = [x.shape[d] for d in dims]
    return F.layer_norm(x, shape) * w[:, None, None] + b[:, None, None]


def instances(x, w, b):
    return F.instance_norm(x, weight=w, bias=b)


def instances_by_moments(x, w, b, correction=0):
    var, mean = torch.var_mean(x, (2, 3), correction=correction, keepdim=True)
    scale = w[:, None, None] / torch.sqrt(var + 1e-5)
    return x * scale + (b[:, None, None] - mean * scale)


def normed_linear(x, w, b, mean, var, g, h):
    return F.batch_norm(F.linear(x, w, b), mean, var, g, h)


def normed_linear_folded(x, w, b, mean, var, g, h, centred=True):
    scale = g * torch.rsqrt(var + 1e-5)
    return F.linear(x, w * scale[:, None], (b - mean if centred else b) * scale + h)


def weight_norm(x, v, g):
    return F.conv1d(x, torch._weight_norm(v, g, 0))


def weight_norm_by_scale(x, v, g, dims=(1, 2)):
    size = v.square().sum(dims).sqrt()
    return F.conv1d(x, v) * (g.flatten() / size)[:, None]


def adapted(x, c, w):
    shift, scale = (F.silu(c) @ w).chunk(2, -1)
    return F.layer_norm(x, (6,), eps=1e-6) * (1 + scale[:, None]) + shift[:, None]


def adapted_by_addcmul(x, c, w, swapped=False):
    a, b = (F.silu(c) @ w).unsqueeze(1).split(6, -1)
    shift, scale = (b, a) if swapped else (a, b)
    y = F.layer_norm(x, (6,), eps=1e-6)
    return torch.addcmul(y + shift, y, scale)


def global_response(x, g, b):
    size = torch.norm(x, p=2, dim=(1, 2), keepdim=True)
    return g * (x * (size / (size.mean(-1, keepdim=True) + 1e-6))) + b + x


def global_response_by_squares(x, g, b, eps=1e-6):
    size = x.pow(2).sum((1, 2)).sqrt()
    share = size / (size.mean(-1, keepdim=True) + eps)
    return x * (1 + g * share[:, None, None]) + b


def convolved(x, w, b):
    return F.conv2d(x, w, b, stride=2, padding=1)


def convolved_by_columns(x, w, b, flipped=False):
    columns = F.unfold(x, 3, padding=1, stride=2)
    y = (w.flip(-1) if flipped else w).flatten(1) @ columns
    return y.view(2, 4, 3, 3) + b[:, None, None]


def depthwise(x, w):
    return F.conv2d(x, w, padding=1, groups=3)


def depthwise_by_shifts(x, w, turned=False):
    p = F.pad(x, (1, 1, 1, 1))
    total = 0
    for i in range(3):
        for j in range(3):
            total = total + p[:, :, i:i + 5, j:j + 5] * (w[:, 0, j, i] if turned else w[:, 0, i, j])[:, None, None]
    return total


def patches(x, w, b):
    return F.conv2d(x, w, b, stride=4).flatten(2).transpose(1, 2)


def patches_by_product(x, w, b, last=False):
    n, c, height, width = x.shape
    t = x.reshape(n, c, height // 4, 4, width // 4, 4)
    t = t.permute(0, 2, 4, 3, 5, 1) if last else t.permute(0, 2, 4, 1, 3, 5)
    return F.linear(t.reshape(n, -1, c * 16), w.flatten(1), b)


def spread(x, w):
    return F.conv_transpose2d(x, w, stride=2)


def spread_by_fold(x, w, swapped=False):
    columns = torch.einsum("bchw,cokl->bolkhw" if swapped else "bchw,cokl->boklhw", x, w)
    return F.fold(columns.reshape(1, -1, 12), (6, 8), 2, stride=2)


def dilated(x, w):
    return F.conv1d(x, w, dilation=2)


def dilated_by_phases(x, w, phases=(0, 1)):
    parts = [F.conv1d(x[..., p::2], w) for p in phases]
    return torch.stack(parts, -1).flatten(-2)


def separable(x, a, b):
    return F.conv2d(x, (a[:, None] * b[None]).expand(3, 1, 3, 3), groups=3)


def separable_in_two(x, a, b, swapped=False):
    a, b = (b, a) if swapped else (a, b)
    y = F.conv2d(x, a.view(1, 1, 3, 1).expand(3, 1, 3, 1), groups=3)
    return F.conv2d(y, b.view(1, 1, 1, 3).expand(3, 1, 1, 3), groups=3)


def circular(x, w):
    return F.conv1d(F.pad(x, (1, 1), mode="circular"), w)


def circular_by_rolls(x, w, back=1):
    return sum(torch.einsum("oc,bcn->bon", w[:, :, k], torch.roll(x, back * (1 - k), -1)) for k in range(3))


def strided(x, w):
    return F.conv2d(x, w, stride=2)


def strided_by_unshuffle(x, w, turned=False):
    w = w.transpose(-1, -2) if turned else w
    return F.conv2d(F.pixel_unshuffle(x, 2), w.reshape(4, 12, 1, 1))


def volume(x, w):
    return F.conv3d(x, w)


def volume_by_frames(x, w, back=False):
    frames = []
    for t in range(3):
        order = (1, 0) if back else (0, 1)
        frames.append(sum(F.conv2d(x[:, :, t + k], w[:, :, order[k]]) for k in range(2)))
    return torch.stack(frames, 2)


def pooled_max(x):
    return F.max_pool2d(x, 3, stride=2)


def pooled_by_windows(x, size=3):
    return x.unfold(2, size, 2).unfold(3, size, 2).amax((-2, -1))


def pooled_mean(x):
    return F.avg_pool2d(x, 2, stride=2)


def pooled_by_convolution(x, divisor=4):
    return F.conv2d(x, torch.full((3, 1, 2, 2), 1 / divisor), stride=2, groups=3)


def resampled(x):
    return F.interpolate(x, size=(6, 7), mode="bilinear", align_corners=False)


def weights_of_places(old, new, half=0.5):
    place = ((torch.arange(new) + half) * (old / new) - half).clamp(min=0)
    low = place.floor().long()
    part = place - low
    high = (low + 1).clamp(max=old - 1)
    return F.one_hot(low, old) * (1 - part[:, None]) + F.one_hot(high, old) * part[:, None]


def resampled_by_products(x, half=0.5):
    return weights_of_places(4, 6, half) @ x @ weights_of_places(5, 7, half).T


def scaled(x):
    return F.interpolate(x, scale_factor=1.6, mode="nearest")


def scaled_by_places(x, factor=1.6):
    place = torch.floor(torch.arange(8) / factor).long().clamp(max=4)
    return x[:, :, place][..., place]


def shrunk(x):
    return F.interpolate(x, scale_factor=0.5, mode="area")


def shrunk_by_reshape(x, dims=(3, 5)):
    return x.view(1, 3, 2, 2, 2, 2).mean(dims)


def rounded(x):
    scale = x.abs().amax(-1, keepdim=True) / 127
    return torch.clamp(torch.round(x / scale), -128, 127) * scale


def rounded_to_int(x, top=127):
    scale = x.abs().amax(-1, keepdim=True) / 127
    q = torch.round(x / scale).clamp(-128, top).to(torch.int8)
    return q.to(x.dtype) * scale


def faked(x):
    return torch.fake_quantize_per_tensor_affine(x, 0.1, 3, 0, 255)


def faked_by_hand(x, low=0):
    return (torch.clamp(torch.round(x / 0.1) + 3, low, 255) - 3) * 0.1


def zero_points(x, q, s, z):
    return F.linear(x, (q.float() - z[:, None]) * s[:, None])


def zero_points_after(x, q, s, z, scaled=True):
    y = x @ q.float().T - x.sum(-1, keepdim=True) * z
    return y * s if scaled else y


def nibbles(x, packed, s):
    low, high = packed & 15, packed >> 4
    q = torch.stack([low, high], -1).flatten(-2).float() - 8
    return x @ (q.view(6, 2, 4) * s[..., None]).view(6, 8).T


def nibbles_by_halves(x, packed, s, zero=8):
    s = s.repeat_interleave(4, 1)
    even, odd = ((packed % 16).float() - zero) * s[:, ::2], ((packed // 16).float() - zero) * s[:, 1::2]
    return x[:, ::2] @ even.T + x[:, 1::2] @ odd.T


def integers(a, b):
    return torch._int_mm(a, b)


def integers_as_floats(a, b, bits=8):
    return ((a.float() * (1 if bits == 8 else 2)) @ b.float()).to(torch.int32)


def adapters(x, w, a, b, c, d):
    return x @ w.T + 2.0 * (x @ a.T @ b.T) + 0.5 * (x @ c.T @ d.T)


def adapters_stacked(x, w, a, b, c, d, rate=0.5):
    low = x @ torch.cat([a, c], 0).T
    return x @ w.T + low @ torch.cat([2.0 * b, rate * d], 1).T


def directed(x, w, a, b, m):
    v = w + b @ a
    return F.linear(x, m[:, None] * v / v.norm(dim=1, keepdim=True))


def directed_after(x, w, a, b, m, dim=1):
    v = w + b @ a
    return (x @ w.T + (x @ a.T) @ b.T) * (m / torch.linalg.vector_norm(v, dim=dim))


def gated(x, w, v):
    return F.linear(x, w) * F.gelu(F.linear(x, v), approximate="tanh")


def gated_interleaved(x, w, v, swapped=False):
    both = torch.stack([w, v], 1).flatten(0, 1)
    y = F.linear(x, both)
    a, b = (y[..., 1::2], y[..., ::2]) if swapped else (y[..., ::2], y[..., 1::2])
    return a * 0.5 * b * (1 + torch.tanh(math.sqrt(2 / math.pi) * (b + 0.044715 * b**3)))


def rewrites():
    f = normal
    return [
        ("offset-norm", offset_norm_large, offset_norm_by_hand, lambda *a: offset_norm_by_hand(*a, inside=False), (f(2, 3, 6), f(6))),
        ("layer-norm-centred", layer_norm, centred_norm, lambda *a: centred_norm(*a, parts=5), (f(2, 3, 6), f(6), f(6))),
        ("one-group-as-layer", one_group, one_group_as_layer, lambda *a: one_group_as_layer(*a, dims=(2, 3)), (f(2, 3, 4, 5), f(3), f(3))),
        ("instances-by-moments", instances, instances_by_moments, lambda *a: instances_by_moments(*a, correction=1), (f(2, 3, 4, 5), f(3), f(3))),
        ("batch-norm-into-linear", normed_linear, normed_linear_folded, lambda *a: normed_linear_folded(*a, centred=False),
         (f(4, 5), f(3, 5), f(3), f(3), f(3).abs(), f(3), f(3))),
        ("weight-norm-after", weight_norm, weight_norm_by_scale, lambda *a: weight_norm_by_scale(*a, dims=(2, 1)) * 1.01, (f(2, 3, 7), f(4, 3, 2), f(4, 1, 1))),
        ("adapted-by-addcmul", adapted, adapted_by_addcmul, lambda *a: adapted_by_addcmul(*a, swapped=True), (f(2, 3, 6), f(2, 4), f(4, 12))),
        ("response-by-squares", global_response, global_response_by_squares, lambda *a: global_response_by_squares(*a, eps=1e-1), (f(2, 3, 4, 5), f(5), f(5))),
        ("convolution-by-columns", convolved, convolved_by_columns, lambda *a: convolved_by_columns(*a, flipped=True), (f(2, 3, 5, 5), f(4, 3, 3, 3), f(4))),
        ("depthwise-by-shifts", depthwise, depthwise_by_shifts, lambda *a: depthwise_by_shifts(*a, turned=True), (f(2, 3, 5, 5), f(3, 1, 3, 3))),
        ("patches-by-product", patches, patches_by_product, lambda *a: patches_by_product(*a, last=True), (f(2, 3, 8, 12), f(5, 3, 4, 4), f(5))),
        ("spread-by-fold", spread, spread_by_fold, lambda *a: spread_by_fold(*a, swapped=True), (f(1, 3, 3, 4), f(3, 2, 2, 2))),
        ("dilation-by-phases", dilated, dilated_by_phases, lambda *a: dilated_by_phases(*a, phases=(1, 0)), (f(2, 3, 10), f(4, 3, 3))),
        ("separable-in-two", separable, separable_in_two, lambda *a: separable_in_two(*a, swapped=True), (f(1, 3, 6, 6), f(3), f(3))),
        ("circular-by-rolls", circular, circular_by_rolls, lambda *a: circular_by_rolls(*a, back=-1), (f(2, 3, 6), f(4, 3, 3))),
        ("strided-by-unshuffle", strided, strided_by_unshuffle, lambda *a: strided_by_unshuffle(*a, turned=True), (f(1, 3, 6, 8), f(4, 3, 2, 2))),
        ("volume-by-frames", volume, volume_by_frames, lambda *a: volume_by_frames(*a, back=True), (f(1, 2, 4, 5, 5), f(3, 2, 2, 3, 3))),
        ("largest-of-windows", pooled_max, pooled_by_windows, lambda x: x.unfold(2, 3, 2).unfold(3, 3, 2).mean((-2, -1)), (f(2, 3, 7, 7),)),
        ("mean-by-convolution", pooled_mean, pooled_by_convolution, lambda x: pooled_by_convolution(x, divisor=3), (f(2, 3, 6, 6),)),
        ("bilinear-by-products", resampled, resampled_by_products, lambda x: resampled_by_products(x, half=0.0), (f(1, 2, 4, 5),)),
        ("nearest-by-places", scaled, scaled_by_places, lambda x: scaled_by_places(x, factor=1.5), (f(1, 2, 5, 5),)),
        ("area-by-reshape", shrunk, shrunk_by_reshape, lambda x: shrunk_by_reshape(x, dims=(2, 5)), (f(1, 3, 4, 4),)),
        ("rounded-to-int", rounded, rounded_to_int, lambda x: rounded_to_int(x, top=126), (f(4, 6),)),
        ("fake-quantise-by-hand", faked, faked_by_hand, lambda x: faked_by_hand(x, low=-10), (f(4, 6),)),
        ("zero-points-after", zero_points, zero_points_after, lambda *a: zero_points_after(*a, scaled=False), (f(3, 8), whole(200, 5, 8).to(torch.uint8), f(5), f(5))),
        ("nibbles-by-halves", nibbles, nibbles_by_halves, lambda *a: nibbles_by_halves(*a, zero=7), (f(3, 8), whole(255, 6, 4).to(torch.uint8), f(6, 2))),
        ("integer-product", integers, integers_as_floats, lambda *a: integers_as_floats(*a, bits=9), (whole(9, 20, 8).to(torch.int8) - 4, whole(9, 8, 8).to(torch.int8) - 4)),
        ("adapters-stacked", adapters, adapters_stacked, lambda *a: adapters_stacked(*a, rate=1.0), (f(3, 6), f(5, 6), f(2, 6), f(5, 2), f(3, 6), f(5, 3))),
        ("direction-after", directed, directed_after, lambda *a: directed_after(*a, dim=0), (f(3, 5), f(5, 5), f(2, 5), f(5, 2), f(5))),
        ("gates-interleaved", gated, gated_interleaved, lambda *a: gated_interleaved(*a, swapped=True), (f(3, 4), f(6, 4), f(6, 4))),
    ]
