"""Rotations of positions, recurrences and state spaces, as people rewrite them."""

import math

import torch
from torch.nn import functional as F

from .operands import normal, whole


def half_turned(x):
    a, b = x.chunk(2, -1)
    return torch.cat([-b, a], -1)


def rotated_part(x, cos, sin):
    a, b = x[..., :4], x[..., 4:]
    return torch.cat([a * cos + half_turned(a) * sin, b], -1)


def rotated_padded(x, cos, sin, last=False):
    """Ones and zeros leave the rest as it is."""
    ones, none = torch.ones_like(cos), torch.zeros_like(sin)
    order = (lambda a, b: torch.cat([b, a], -1)) if last else (lambda a, b: torch.cat([a, b], -1))
    a = x[..., 4:] if last else x[..., :4]
    turned = order(half_turned(a), torch.zeros_like(a))
    return x * order(cos, ones) + turned * order(sin, none)


def angles(positions, base=10000.0, width=8):
    rates = 1.0 / base ** (torch.arange(0, width, 2).float() / width)
    return positions[:, None].float() * rates


def rotated_complex(x):
    turn = torch.polar(torch.ones(5, 4), angles(torch.arange(5)))
    y = torch.view_as_complex(x.reshape(2, 5, 4, 2)) * turn
    return torch.view_as_real(y).flatten(-2)


def rotated_pairs(x, sign=1):
    w = angles(torch.arange(5))
    a, b = x[..., 0::2], x[..., 1::2]
    return torch.stack([a * w.cos() - sign * b * w.sin(), a * w.sin() * sign + b * w.cos()], -1).flatten(-2)


def scores_at(q, k, shift=0, both=True):
    p = torch.arange(5)
    turn = lambda t, at: t * torch.cat([angles(at).cos()] * 2, -1) + half_turned(t) * torch.cat([angles(at).sin()] * 2, -1)
    return turn(q, p + shift) @ turn(k, p + shift if both else p).mT


def cached_rotation(x, positions):
    w = angles(torch.arange(16))
    cos, sin = (torch.cat([t, t], -1)[positions] for t in (w.cos(), w.sin()))
    return x * cos + half_turned(x) * sin


def direct_rotation(x, positions, shift=0):
    w = (positions + shift).float()[..., None] * (10000.0 ** (-torch.arange(0, 8, 2).float() / 8))
    w = torch.cat([w, w], -1)
    return x * w.cos() + half_turned(x) * w.sin()


def axial(x, w):
    """Rows turn the first half of the channels, columns the second."""
    a, b = x.chunk(2, -1)
    turn = lambda t, c, s: t * c + half_turned(t) * s
    row, column = w[:, None].expand(3, 3, 4), w[None].expand(3, 3, 4)
    return torch.cat([turn(a, row.cos(), row.sin()), turn(b, column.cos(), column.sin())], -1)


def axial_at_once(x, w, order=(0, 1)):
    both = [w[:, None].expand(3, 3, 4), w[None].expand(3, 3, 4)]
    angle = torch.stack([both[i] for i in order], -2)
    t = x.reshape(3, 3, 2, 2, 2)
    turned = torch.stack([-t[..., 1, :], t[..., 0, :]], -2).reshape(3, 3, 2, 4)
    return (x.reshape(3, 3, 2, 4) * angle.cos() + turned * angle.sin()).reshape(3, 3, 8)


def lstm(x, h, c, w, u, b, d):
    return torch.lstm_cell(x, [h, c], w, u, b, d)


def lstm_by_gates(x, h, c, w, u, b, d, order=(0, 1, 2, 3)):
    gates = (torch.cat([x, h], -1) @ torch.cat([w, u], 1).T + (b + d)).chunk(4, -1)
    i, f, g, o = (gates[k] for k in order)
    c = f.sigmoid() * c + i.sigmoid() * g.tanh()
    return o.sigmoid() * c.tanh(), c


def gru(x, h, w, u, b, d):
    return torch.gru_cell(x, h, w, u, b, d)


def gru_by_hand(x, h, w, u, b, d, inside=False):
    rx, zx, nx = (x @ w.T + b).chunk(3, -1)
    rh, zh, nh = (h @ u.T + d).chunk(3, -1)
    r, z = torch.sigmoid(rx + rh), torch.sigmoid(zx + zh)
    n = torch.tanh(nx + (F.linear(r * h, u[8:], d[8:]) if inside else r * nh))
    return torch.lerp(n, h, z)


def scan(a, b):
    h, out = torch.zeros_like(b[:, 0]), []
    for t in range(a.shape[1]):
        h = a[:, t] * h + b[:, t]
        out.append(h)
    return torch.stack(out, 1)


def scan_by_logs(a, b, late=False):
    """Sums of logarithms: what entered at s has decayed by the product of what lies behind it."""
    total = a.log().cumsum(1)
    decay = (total[:, :, None] - (F.pad(total, (0, 0, 1, 0))[:, :-1] if late else total)[:, None]).exp()
    keep = torch.ones(5, 5).tril()[None, :, :, None]
    return ((decay * keep) * b[:, None]).sum(2)


def scan_in_halves(a, b):
    """An associative scan in two chunks."""
    first, second = scan(a[:, :2], b[:, :2]), scan(a[:, 2:], b[:, 2:])
    return torch.cat([first, second + a[:, 2:].cumprod(1) * first[:, -1:]], 1)


def scan_in_halves_wrongly(a, b):
    first, second = scan(a[:, :2], b[:, :2]), scan(a[:, 2:], b[:, 2:])
    return torch.cat([first, second + a[:, 2:] * first[:, -1:]], 1)


def selective(x, dt, a, b, c):
    """Mamba's state, step by step."""
    h, out = torch.zeros(2, 3, 4), []
    for t in range(4):
        h = torch.exp(dt[:, t, :, None] * a) * h + dt[:, t, :, None] * b[:, t, None] * x[:, t, :, None]
        out.append((h * c[:, t, None]).sum(-1))
    return torch.stack(out, 1)


def selective_as_matrix(x, dt, a, b, c, scaled=True):
    total = (dt.unsqueeze(-1) * a).cumsum(1)
    decay = torch.exp(total[:, :, None] - total[:, None]) * torch.ones(4, 4).tril()[None, :, :, None, None]
    entering = (dt * x if scaled else x)
    return torch.einsum("btn,btsdn,bsn,bsd->btd", c, decay, b, entering)


def convolved_step(state, x, w):
    state = torch.cat([state[:, :, 1:], x.unsqueeze(-1)], -1)
    return (state * w).sum(-1), state


def convolved_window(state, x, w, first=1):
    window = torch.cat([state, x.unsqueeze(-1)], -1)
    return F.conv1d(window[:, :, first:] if first else window[:, :, :4], w.unsqueeze(1), groups=3).squeeze(-1), torch.roll(state, -1, -1).index_copy(2, torch.tensor([3]), x.unsqueeze(-1))


def averaged(x):
    out = [x[:, 0]]
    for t in range(1, 5):
        out.append(0.8 * out[-1] + 0.2 * x[:, t])
    return torch.stack(out, 1)


def averaged_by_product(x, first=1.0):
    d = (torch.arange(5)[:, None] - torch.arange(5)[None])
    w = torch.where(d >= 0, 0.8 ** d.clamp(min=0).float() * 0.2, 0.0)
    w[:, 0] = first * 0.8 ** torch.arange(5).float()
    return torch.einsum("ts,bsd->btd", w, x)


def delta(s, k, v, rate):
    return s + (rate * (v - torch.einsum("bkv,bk->bv", s, k)))[:, None, :] * k[..., None]


def delta_as_product(s, k, v, rate, twice=1):
    keep = torch.eye(4) - twice * rate[..., None] * k[..., None] * k[:, None]
    return keep @ s + (rate * k)[..., None] * v[:, None]


def windows_of_tokens(x):
    return torch.stack([x[:, t:t + 3].mean(1) for t in range(4)], 1)


def windows_by_sums(x, start=0):
    total = F.pad(x.cumsum(1), (0, 0, 1, 0))
    return (total[:, 3:7] - total[:, start:start + 4]) / 3


def time_shift(x, mix):
    before = F.pad(x, (0, 0, 1, -1))
    return x * mix + before * (1 - mix)


def time_shift_by_lerp(x, mix, swapped=False):
    before = torch.cat([torch.zeros_like(x[:, :1]), x[:, :-1]], 1)
    return torch.lerp(x, before, mix) if swapped else torch.lerp(before, x, mix)


def sinusoids(t):
    rates = torch.exp(-math.log(10000) * torch.arange(0, 4) / 4)
    w = t[:, None] * rates
    return torch.cat([w.cos(), w.sin()], -1)


def sinusoids_by_phase(t, base=10000.0):
    """A cosine is a shifted sine."""
    w = t[:, None] / base ** (torch.arange(4) / 4)
    return torch.sin(torch.stack([w + math.pi / 2, w], 1)).flatten(1)


def rewrites():
    table = lambda: normal(3, 4).sigmoid()
    return [
        ("rotation-padded", rotated_part, rotated_padded, lambda *a: rotated_padded(*a, last=True), (normal(2, 3, 8), normal(3, 4), normal(3, 4))),
        ("rotation-complex", rotated_complex, rotated_pairs, lambda x: rotated_pairs(x, sign=-1), (normal(2, 5, 8),)),
        ("rotation-shifted", scores_at, lambda q, k: scores_at(q, k, shift=3), lambda q, k: scores_at(q, k, shift=3, both=False), (normal(2, 5, 8), normal(2, 5, 8))),
        ("rotation-direct", cached_rotation, direct_rotation, lambda *a: direct_rotation(*a, shift=1), (normal(2, 5, 8), whole(16, 2, 5))),
        ("rotation-axial", axial, axial_at_once, lambda *a: axial_at_once(*a, order=(1, 0)), (normal(3, 3, 8), normal(3, 4))),
        ("lstm-by-gates", lstm, lstm_by_gates, lambda *a: lstm_by_gates(*a, order=(0, 1, 3, 2)),
         (normal(2, 3), normal(2, 4), normal(2, 4), normal(16, 3), normal(16, 4), normal(16), normal(16))),
        ("gru-by-hand", gru, gru_by_hand, lambda *a: gru_by_hand(*a, inside=True), (normal(2, 3), normal(2, 4), normal(12, 3), normal(12, 4), normal(12), normal(12))),
        ("scan-by-logs", scan, scan_by_logs, lambda *a: scan_by_logs(*a, late=True), (normal(2, 5, 3).sigmoid(), normal(2, 5, 3))),
        ("scan-in-halves", scan, scan_in_halves, scan_in_halves_wrongly, (normal(2, 5, 3), normal(2, 5, 3))),
        ("state-space-as-matrix", selective, selective_as_matrix, lambda *a: selective_as_matrix(*a, scaled=False),
         (normal(2, 4, 3), normal(2, 4, 3).abs(), -normal(3, 4).abs(), normal(2, 4, 4), normal(2, 4, 4))),
        ("convolution-step", convolved_step, convolved_window, lambda *a: convolved_window(*a, first=0), (normal(2, 3, 4), normal(2, 3), normal(3, 4))),
        ("running-mean-by-product", averaged, averaged_by_product, lambda x: averaged_by_product(x, first=0.2), (normal(2, 5, 3),)),
        ("delta-rule-as-product", delta, delta_as_product, lambda *a: delta_as_product(*a, twice=2), (normal(2, 4, 3), normal(2, 4), normal(2, 3), normal(2, 1))),
        ("windows-by-sums", windows_of_tokens, windows_by_sums, lambda x: windows_by_sums(x, start=1), (normal(2, 6, 3),)),
        ("time-shift-by-lerp", time_shift, time_shift_by_lerp, lambda *a: time_shift_by_lerp(*a, swapped=True), (normal(2, 5, 3), table()[0, :3])),
        ("sinusoids-by-phase", sinusoids, sinusoids_by_phase, lambda t: sinusoids_by_phase(t, base=1000.0), (normal(3),)),
    ]
