"""Statistics, losses, activations and steps of optimisers, as people rewrite them."""

import math

import torch
from torch.nn import functional as F

from .operands import normal, whole


def running_mean(x):
    return x.cumsum(1) / torch.arange(1, 6)[:, None]


def running_mean_in_steps(x, first=1):
    mean, out = x[:, 0], [x[:, 0]]
    for t in range(1, 5):
        mean = mean + (x[:, t] - mean) / (t + first)
        out.append(mean)
    return torch.stack(out, 1)


def running_peak(x):
    return x.cummax(-1).values


def running_peak_by_mask(x, strict=0):
    n = x.shape[-1]
    keep = torch.ones(n, n, dtype=torch.bool).tril(strict)
    return torch.where(keep, x[..., None, :], -math.inf).amax(-1)


def merged_moments(x):
    return x.mean(-1), x.var(-1)


def merged_moments_by_halves(x, share=4):
    """Chan: the moments of two halves put together."""
    a, b = x.chunk(2, -1)
    d = b.mean(-1) - a.mean(-1)
    squares = lambda t: (t - t.mean(-1, keepdim=True)).square().sum(-1)
    return a.mean(-1) + d / 2, (squares(a) + squares(b) + d * d * 8 / share) / 7


def normed(x, w, b):
    return F.layer_norm(x, (6,), w, b)


def normed_by_sums(x, w, b, parts=6):
    """One pass: the sum and the sum of squares."""
    s, q = x.sum(-1, keepdim=True), (x * x).sum(-1, keepdim=True)
    var = q / 6 - (s / parts) ** 2
    return (x - s / parts) / torch.sqrt(var + 1e-5) * w + b


def root_normed(x, w, u):
    return F.linear(F.rms_norm(x, (6,), w, 1e-6), u)


def root_normed_after(x, w, u, power=2):
    """The weight goes into the product, the root behind it."""
    return (x @ (u * w).T) / (x.pow(power).mean(-1, keepdim=True) + 1e-6).sqrt()


def grouped(x):
    return F.group_norm(x, 3)


def grouped_by_moments(x, eps=1e-5):
    y = x.unflatten(1, (3, 2))
    m = y.mean((2, 3, 4), keepdim=True)
    v = y.square().mean((2, 3, 4), keepdim=True) - m.square()
    return ((y - m) * torch.rsqrt(v + eps)).flatten(1, 2)


def gelu(x):
    return F.gelu(x)


def gelu_written(x, root=2.0):
    return x * 0.5 * (1.0 + torch.erf(x / math.sqrt(root)))


def mish(x):
    return F.mish(x)


def mish_by_square(x, two=2):
    """tanh(log(y)) is (y² - 1) / (y² + 1)."""
    y = (1 + x.exp()) ** 2
    return x * (y - 1) / (y + two - 1)


def hard_swish(x):
    return F.hardswish(x)


def hard_swish_by_relu6(x, shift=3):
    return x * F.relu6(x + shift) / 6


def exponential(x):
    return F.selu(x)


def exponential_by_parts(x, rate=1.6732632423543772):
    return 1.0507009873554805 * (F.relu(x) + rate * (torch.exp(x.clamp(max=0)) - 1))


def soft_plus(x):
    return F.softplus(x)


def soft_plus_safe(x, sign=-1):
    return x.clamp(min=0) + torch.log1p(torch.exp(sign * x.abs()))


def focal(x, t):
    ce = F.cross_entropy(x, t, reduction="none")
    return ((1 - torch.exp(-ce)) ** 2 * ce).mean()


def focal_by_gather(x, t, power=2):
    logs = x - x.logsumexp(-1, keepdim=True)
    mine = logs.gather(1, t[:, None])[:, 0]
    p = mine.exp()
    return -((1 - p).pow(power) * mine).sum() / 6


def jaccard(x, t):
    p = x.sigmoid().flatten(1)
    t = t.flatten(1)
    both = (p * t).sum(1)
    return (1 - both / (p + t - p * t).sum(1)).mean()


def jaccard_by_sums(x, t, twice=1):
    p = torch.sigmoid(x)
    both = torch.einsum("bhw,bhw->b", p, t)
    return 1 - torch.mean(both / (p.sum((1, 2)) + t.sum((1, 2)) - twice * both))


def contrast(x):
    z = F.normalize(x, dim=-1)
    s = z @ z.T / 0.5
    s = s.masked_fill(torch.eye(6, dtype=torch.bool), -math.inf)
    return F.cross_entropy(s, torch.tensor([3, 4, 5, 0, 1, 2]))


def contrast_by_pairs(x, heat=0.5):
    """What belongs together by its dot product, the others by their exponentials."""
    z = x / x.norm(dim=-1, keepdim=True).clamp(min=1e-12)
    a, b = z.chunk(2)
    mine = (a * b).sum(-1) / heat
    e = torch.exp(z @ z.T / 0.5) * (1 - torch.eye(6))
    return (e.sum(-1).log() - torch.cat([mine, mine])).mean()


def both_ways(a, b):
    s = a @ b.T
    t = torch.arange(4)
    return (F.cross_entropy(s, t) + F.cross_entropy(s.T, t)) / 2


def both_ways_by_logs(a, b, rows=0):
    s = torch.einsum("id,jd->ij", a, b)
    return -(s.log_softmax(1).diagonal().mean() + s.log_softmax(rows).diagonal().mean()) * 0.5


def jensen(x, y):
    p, q = x.softmax(-1), y.softmax(-1)
    m = ((p + q) / 2).log()
    return 0.5 * (F.kl_div(m, p, reduction="sum") + F.kl_div(m, q, reduction="sum"))


def jensen_by_entropies(x, y, half=0.5):
    entropy = lambda p: -(p * p.log()).sum()
    p, q = x.softmax(-1), y.softmax(-1)
    return entropy(half * (p + q)) - 0.5 * entropy(p) - 0.5 * entropy(q)


def hinge(x, t):
    return F.multi_margin_loss(x, t)


def hinge_by_gather(x, t, margin=1.0):
    mine = x.gather(1, t.unsqueeze(1))
    return ((margin - mine + x).clamp(min=0).sum(1) - margin).mean() / x.shape[1]


def poisson(x, y):
    return F.poisson_nll_loss(x, y)


def poisson_by_hand(x, y, sign=1):
    return (x.exp() - sign * y * x).mean()


def sampled(mu, logvar, e):
    return mu + torch.exp(0.5 * logvar) * e


def sampled_by_root(mu, logvar, e, power=0.5):
    return torch.addcmul(mu, e, logvar.exp().pow(power))


def nesterov(p, g, m):
    m = 0.9 * m + g
    return p - 0.1 * (g + 0.9 * m), m


def nesterov_at_once(p, g, m, rate=0.81):
    return p - 0.19 * g - 0.1 * rate * m, torch.add(g, m, alpha=0.9)


def scaled_adam(p, g, m, v):
    """LAMB: the step has the length of the weight."""
    m, v = 0.9 * m + 0.1 * g, 0.99 * v + 0.01 * g**2
    u = m / (v.sqrt() + 1e-6) + 0.01 * p
    return p - 0.1 * (p.norm() / u.norm()) * u


def scaled_adam_by_squares(p, g, m, v, decay=0.01):
    m, v = torch.lerp(m, g, 0.1), torch.lerp(v, g * g, 0.01)
    u = torch.add(m / (v.sqrt() + 1e-6), p, alpha=decay)
    return torch.sub(p, u * (p.square().sum() / (u * u).sum()).sqrt(), alpha=0.1)


def scanned(x):
    h, out = torch.zeros(2, 3), []
    for t in range(4):
        h = 0.9 * h + 0.1 * x[:, t]
        out.append(h)
    return torch.stack(out, 1)


def scanned_by_powers(x, share=0.1):
    """Divided by powers, added up, multiplied by powers."""
    powers = 0.9 ** torch.arange(1, 5)[:, None]
    return powers * torch.cumsum(share * x / powers, 1)


def recurrent(x, h, w, u, b):
    for t in range(3):
        h = torch.tanh(F.linear(x[:, t], w) + F.linear(h, u) + b)
    return h


def recurrent_packed(x, h, w, u, b, order=(0, 1, 2)):
    z = x @ w.T + b
    for t in order:
        h = (z[:, t] + h @ u.T).tanh()
    return h


def minimal(x, h, w, u):
    """An update gate alone, over the input and the state side by side."""
    y = torch.cat([x, h], -1)
    z, n = torch.sigmoid(y @ w), torch.tanh(y @ u)
    return (1 - z) * h + z * n


def minimal_apart(x, h, w, u, swapped=False):
    gate = x @ w[:3] + h @ w[3:]
    new = torch.tanh(F.linear(x, u[:3].T) + F.linear(h, u[3:].T))
    return torch.lerp(new, h, gate.sigmoid()) if swapped else h - torch.sigmoid(gate) * (h - new)


def calibrated(x):
    s = x.abs().amax(-1, keepdim=True) / 127
    return torch.round(x / s).clamp(-127, 127) * s


def calibrated_by_inverse(x, top=127):
    most = x.abs().max(-1, keepdim=True).values
    return torch.round(x * (127 / most)).clamp(min=-127, max=127) * most / top


def ranked(x):
    return x.argsort(-1).argsort(-1)


def ranked_by_count(x, last=False):
    """A rank is the number of those that are smaller."""
    return (x[..., None, :] < x[..., None]).sum(-2 if last else -1)


def middle(x):
    return x.median(-1).values


def middle_by_sort(x, at=3):
    return x.sort(-1).values[..., at]


def pairs_apart(x):
    i, j = torch.triu_indices(5, 5, 1)
    return (x[i] - x[j]).square().sum(-1).mean()


def pairs_apart_by_mean(x, power=2):
    """The mean square of all differences is twice the variance."""
    return 2 * (x - x.mean(0)).pow(power).sum() / 4


def softmin(x, y):
    return -0.5 * torch.logsumexp(-torch.stack([x, y, x + y]) / 0.5, 0)


def softmin_by_hand(x, y, heat=0.5):
    low = torch.minimum(torch.minimum(x, y), x + y)
    e = sum(torch.exp((low - t) / heat) for t in (x, y, x + y))
    return low - heat * e.log()


def rewrites():
    f = normal
    step = (f(3, 4), f(3, 4), f(3, 4), f(3, 4).abs())
    return [
        ("mean-in-steps", running_mean, running_mean_in_steps, lambda x: running_mean_in_steps(x, first=2), (f(2, 5, 3),)),
        ("peak-by-mask", running_peak, running_peak_by_mask, lambda x: running_peak_by_mask(x, strict=1), (f(3, 5),)),
        ("moments-by-halves", merged_moments, merged_moments_by_halves, lambda x: merged_moments_by_halves(x, share=2), (f(3, 8),)),
        ("layer-norm-by-sums", normed, normed_by_sums, lambda *a: normed_by_sums(*a, parts=5), (f(2, 3, 6), f(6), f(6))),
        ("root-after-product", root_normed, root_normed_after, lambda *a: root_normed_after(*a, power=4), (f(2, 3, 6), f(6), f(4, 6))),
        ("groups-by-squares", grouped, grouped_by_moments, lambda x: grouped_by_moments(x, eps=1e-2), (f(2, 6, 3, 4),)),
        ("gelu-written", gelu, gelu_written, lambda x: gelu_written(x, root=2.5), (f(3, 4),)),
        ("mish-by-square", mish, mish_by_square, lambda x: mish_by_square(x, two=3), (f(3, 4),)),
        ("hard-swish-by-bound", hard_swish, hard_swish_by_relu6, lambda x: hard_swish_by_relu6(x, shift=2), (f(3, 4) * 3,)),
        ("selu-by-parts", exponential, exponential_by_parts, lambda x: exponential_by_parts(x, rate=1.5), (f(3, 4),)),
        ("softplus-safe", soft_plus, soft_plus_safe, lambda x: soft_plus_safe(x, sign=-2), (f(3, 4),)),
        ("focal-by-gather", focal, focal_by_gather, lambda *a: focal_by_gather(*a, power=3), (f(6, 5), whole(5, 6))),
        ("jaccard-by-sums", jaccard, jaccard_by_sums, lambda *a: jaccard_by_sums(*a, twice=2), (f(2, 3, 4), whole(2, 2, 3, 4).float())),
        ("contrast-by-pairs", contrast, contrast_by_pairs, lambda x: contrast_by_pairs(x, heat=0.4), (f(6, 4),)),
        ("contrast-both-ways", both_ways, both_ways_by_logs, lambda *a: both_ways_by_logs(*a, rows=1), (f(4, 3), f(4, 3))),
        ("jensen-by-entropies", jensen, jensen_by_entropies, lambda *a: jensen_by_entropies(*a, half=0.4), (f(3, 4), f(3, 4))),
        ("hinge-by-gather", hinge, hinge_by_gather, lambda *a: hinge_by_gather(*a, margin=1.5), (f(4, 5), whole(5, 4))),
        ("poisson-by-hand", poisson, poisson_by_hand, lambda *a: poisson_by_hand(*a, sign=-1), (f(3, 4), f(3, 4).abs())),
        ("sample-by-root", sampled, sampled_by_root, lambda *a: sampled_by_root(*a, power=1.0), (f(2, 3), f(2, 3), f(2, 3))),
        ("nesterov-at-once", nesterov, nesterov_at_once, lambda *a: nesterov_at_once(*a, rate=0.9), step[:3]),
        ("step-of-one-length", scaled_adam, scaled_adam_by_squares, lambda *a: scaled_adam_by_squares(*a, decay=0.1), step),
        ("scan-by-powers", scanned, scanned_by_powers, lambda x: scanned_by_powers(x, share=0.2), (f(2, 4, 3),)),
        ("recurrence-packed", recurrent, recurrent_packed, lambda *a: recurrent_packed(*a, order=(0, 2, 1)), (f(2, 3, 4), f(2, 5), f(5, 4), f(5, 5), f(5))),
        ("minimal-gate-apart", minimal, minimal_apart, lambda *a: minimal_apart(*a, swapped=True), (f(2, 3), f(2, 4), f(7, 4), f(7, 4))),
        ("calibrated-by-inverse", calibrated, calibrated_by_inverse, lambda x: calibrated_by_inverse(x, top=128), (f(3, 6),)),
        ("ranks-by-count", ranked, ranked_by_count, lambda x: ranked_by_count(x, last=True), (f(3, 5),)),
        ("median-by-sort", middle, middle_by_sort, lambda x: middle_by_sort(x, at=2), (f(3, 7),)),
        ("pairs-by-variance", pairs_apart, pairs_apart_by_mean, lambda x: pairs_apart_by_mean(x, power=4), (f(5, 3),)),
        ("softmin-by-hand", softmin, softmin_by_hand, lambda *a: softmin_by_hand(*a, heat=0.4), (f(3, 4), f(3, 4))),
    ]
