"""Objectives and steps of optimisers, in forms that libraries write differently."""

import math

import torch
from torch.nn import functional as F

from .operands import normal, whole


def quantised(x, codes):
    return codes[torch.cdist(x, codes, compute_mode="donot_use_mm_for_euclid_dist").argmin(-1)]


def quantised_by_one_hot(x, codes, sign=1):
    d = x.square().sum(-1, keepdim=True) - 2 * x @ codes.T + codes.square().sum(-1)
    return F.one_hot((-sign * d).argmax(-1), codes.shape[0]).to(x.dtype) @ codes


def committed(x, z):
    return F.mse_loss(x, z.detach()) + 0.25 * F.mse_loss(x.detach(), z)


def committed_once(x, z, rate=0.25):
    return (1 + rate) * (x - z).square().mean()


def sigmoid_pairs(a, b, t, bias):
    s = a @ b.T * t.exp() + bias
    label = 2 * torch.eye(a.shape[0]) - 1
    return -F.logsigmoid(label * s).sum() / a.shape[0]


def sigmoid_pairs_binary(a, b, t, bias, signed=True):
    s = F.linear(a * t.exp(), b, bias.expand(b.shape[0]))
    return F.binary_cross_entropy_with_logits(s if signed else -s, torch.eye(a.shape[0]), reduction="none").sum(1).mean()


def decorrelated(a, b):
    norm = lambda t: (t - t.mean(0)) / t.std(0)
    c = norm(a).T @ norm(b) / a.shape[0]
    on = torch.diagonal(c).add(-1).pow(2).sum()
    off = (c - torch.diag(torch.diagonal(c))).pow(2).sum()
    return on + 0.005 * off


def decorrelated_weighed(a, b, rate=0.005):
    c = torch.einsum("ni,nj->ij", (a - a.mean(0)) / a.std(0), (b - b.mean(0)) / b.std(0)) / a.shape[0]
    eye = torch.eye(c.shape[0])
    return ((c - eye) ** 2 * torch.where(eye > 0, 1.0, rate)).sum()


def spread_out(x):
    return F.relu(1 - torch.sqrt(x.var(0) + 1e-4)).mean()


def spread_out_by_moments(x, correction=1):
    n = x.shape[0]
    var = ((x * x).sum(0) - x.sum(0) ** 2 / n) / (n - correction)
    return (1 - (var + 1e-4).sqrt()).clamp(min=0).sum() / x.shape[1]


def tversky(x, t):
    p = torch.sigmoid(x).flatten(1)
    t = t.flatten(1)
    tp, fp, fn = (p * t).sum(1), (p * (1 - t)).sum(1), ((1 - p) * t).sum(1)
    return (1 - (tp + 1) / (tp + 0.3 * fp + 0.7 * fn + 1)).mean()


def tversky_by_sums(x, t, alpha=0.3):
    p = torch.sigmoid(x)
    tp = torch.einsum("bhw,bhw->b", p, t)
    rest = alpha * p.sum((1, 2)) + (1 - alpha) * t.sum((1, 2))
    return 1 - ((tp + 1) / (rest + 1)).mean()


def mixed_labels(x, a, b, share):
    return share * F.cross_entropy(x, a) + (1 - share) * F.cross_entropy(x, b)


def mixed_labels_soft(x, a, b, share, swapped=False):
    a, b = (b, a) if swapped else (a, b)
    soft = share * F.one_hot(a, 5).float() + (1 - share) * F.one_hot(b, 5).float()
    return F.cross_entropy(x, soft)


def distilled(x, y):
    return F.kl_div(F.log_softmax(x / 2, -1), F.log_softmax(y / 2, -1), log_target=True, reduction="batchmean") * 4


def distilled_by_entropy(x, y, heat=2):
    p = (y / 2).softmax(-1)
    cross, own = -(p * (x / 2).log_softmax(-1)).sum(-1), -(p * (y / 2).log_softmax(-1)).sum(-1)
    return heat * heat * (cross - own).mean()


def spectral(x, w, u, v):
    sigma = torch.dot(u, torch.mv(w, v))
    return x @ (w / sigma).T


def spectral_after(x, w, u, v, sides=True):
    sigma = torch.einsum("o,oi,i->", u, w, v) if sides else torch.einsum("o,oi,i->", u, w, v.abs())
    return F.linear(x, w) / sigma


def adam_decoupled(p, g, m, v):
    p = p * (1 - 0.01 * 0.1)
    m = m.lerp(g, 0.1)
    v = 0.999 * v + 0.001 * g * g
    return p - 0.01 * (m / 0.271) / (v / 0.002997).sqrt().add(1e-8), m, v


def adam_decoupled_at_once(p, g, m, v, decay=0.1):
    m = 0.9 * m + 0.1 * g
    v = torch.addcmul(0.999 * v, g, g, value=0.001)
    step = (m / 0.271) / (torch.sqrt(v / 0.002997) + 1e-8) + decay * p
    return torch.add(p, step, alpha=-0.01), m, v


def orthogonalised(g):
    x = g / (g.norm() + 1e-7)
    a = x @ x.T
    return 3.4445 * x + (-4.775 * a + 2.0315 * a @ a) @ x


def orthogonalised_by_columns(g, c=2.0315):
    x = g / (g.square().sum().sqrt() + 1e-7)
    b = x.T @ x
    return x @ (3.4445 * torch.eye(g.shape[1]) + -4.775 * b + c * b @ b)


def factored(g, r, c):
    s = g * g + 1e-30
    r, c = 0.9 * r + 0.1 * s.mean(1), 0.9 * c + 0.1 * s.mean(0)
    return g / (r[:, None] * c[None] / r.mean()).sqrt(), r, c


def factored_by_roots(g, r, c, dim=0):
    s = g.square() + 1e-30
    r = r + 0.1 * (s.mean(-1) - r)
    c = c + 0.1 * (s.mean(0) - c)
    return g * (r / r.mean(dim)).rsqrt()[:, None] * c.rsqrt()[None], r, c


def centred_step(p, g, s, m):
    s, m = 0.99 * s + 0.01 * g * g, 0.99 * m + 0.01 * g
    return p - 0.01 * g / ((s - m * m).sqrt() + 1e-8), s, m


def centred_step_fused(p, g, s, m, centre=-1):
    s, m = s.mul(0.99).addcmul(g, g, value=0.01), torch.lerp(m, g, 0.01)
    return p.addcdiv(g, s.addcmul(m, m, value=centre).sqrt().add(1e-8), value=-0.01), s, m


def clipped_rows(w, g):
    """Gradients of each unit at most a share of its weights."""
    most = w.norm(dim=1, keepdim=True).clamp(min=1e-3) * 0.1
    size = g.norm(dim=1, keepdim=True)
    return torch.where(size > most, g * (most / size.clamp(min=1e-6)), g)


def clipped_rows_by_factor(w, g, rate=0.1):
    length = lambda t: t.pow(2).sum(1, keepdim=True).sqrt()
    most = rate * torch.maximum(length(w), torch.tensor(1e-3))
    size = length(g)
    return g * torch.where(size > most, most / torch.clamp(size, min=1e-6), torch.ones_like(size))


def bounded_policy(new, old, a):
    r = (new - old).exp()
    return -torch.min(r * a, r.clamp(0.8, 1.2) * a).mean()


def bounded_policy_by_sign(new, old, a, high=1.2):
    r = torch.exp(new) / torch.exp(old)
    return -(torch.where(a >= 0, torch.minimum(r, torch.tensor(high)), torch.maximum(r, torch.tensor(0.8))) * a).mean()


def advantages(r, v):
    out, last = [], torch.zeros(())
    for t in reversed(range(5)):
        last = r[t] + 0.9 * v[t + 1] - v[t] + 0.72 * last
        out.append(last)
    return torch.stack(out[::-1])


def advantages_by_product(r, v, rate=0.72):
    delta = r + 0.9 * v[1:] - v[:-1]
    at = torch.arange(5)
    ahead = at[None] - at[:, None]
    return torch.where(ahead >= 0, rate ** ahead.clamp(min=0).float(), torch.zeros(())) @ delta


def log_cosh(x, y):
    return torch.log(torch.cosh(x - y)).mean()


def log_cosh_by_softplus(x, y, shift=2.0):
    z = x - y
    return (z + F.softplus(-2 * z) - math.log(shift)).mean()


def discrepancy(x, y):
    k = lambda a, b: torch.exp(-((a[:, None] - b[None]) ** 2).sum(-1) / 2).mean()
    return k(x, x) + k(y, y) - 2 * k(x, y)


def discrepancy_signed(x, y, sign=-1.0):
    z = torch.cat([x, y])
    e = torch.cat([torch.full((4,), 0.25), torch.full((5,), sign / 5)])
    s = z.square().sum(-1)
    return e @ torch.exp(z @ z.T - s[:, None] / 2 - s[None] / 2) @ e


def alignment(x, y):
    return (x.T @ y).square().sum() / ((x.T @ x).norm() * (y.T @ y).norm())


def alignment_by_grams(x, y, turned=False):
    k, g = x @ x.T, y @ y.T
    return torch.trace(k @ (g.flip(0) if turned else g)) / torch.sqrt(torch.trace(k @ k) * torch.trace(g @ g))


def margin(x, w, t):
    c = (F.normalize(x, dim=-1) @ F.normalize(w, dim=-1).T).clamp(-0.999, 0.999)
    turned = torch.cos(torch.acos(c) + 0.5)
    return F.cross_entropy(30 * torch.where(F.one_hot(t, 4).bool(), turned, c), t)


def margin_by_sum(x, w, t, angle=0.5):
    c = (F.normalize(x, dim=-1) @ F.normalize(w, dim=-1).T).clamp(-0.999, 0.999)
    turned = c * math.cos(angle) - (1 - c * c).sqrt() * math.sin(angle)
    return F.cross_entropy(30 * (c + F.one_hot(t, 4) * (turned - c)), t)


def gaussian_likelihood(x, y, logvar):
    var = logvar.exp()
    return 0.5 * (torch.log(var) + (x - y) ** 2 / var).mean()


def gaussian_likelihood_by_logs(x, y, logvar, half=0.5):
    return half * (logvar + (x - y) ** 2 * torch.exp(-logvar)).mean()


def earth_mover(x, y):
    return (x.softmax(-1).cumsum(-1) - y.softmax(-1).cumsum(-1)).abs().sum(-1)


def earth_mover_by_product(x, y, classes=5):
    d = x.softmax(-1) - y.softmax(-1)
    return (d @ torch.ones(5, 5).triu())[:, :classes].abs().sum(-1)


def rewrites():
    f = normal
    pair = (f(4, 5), f(4, 5))
    step = (f(3, 4), f(3, 4), f(3, 4), f(3, 4).abs())
    return [
        ("codes-by-one-hot", quantised, quantised_by_one_hot, lambda *a: quantised_by_one_hot(*a, sign=-1), (f(5, 3), f(4, 3))),
        ("commitment-at-once", committed, committed_once, lambda *a: committed_once(*a, rate=0.5), pair),
        ("pairs-by-binary", sigmoid_pairs, sigmoid_pairs_binary, lambda *a: sigmoid_pairs_binary(*a, signed=False), (f(4, 3), f(4, 3), f(1)[0], f(1)[0])),
        ("decorrelation-weighed", decorrelated, decorrelated_weighed, lambda *a: decorrelated_weighed(*a, rate=0.05), (f(6, 4), f(6, 4))),
        ("spread-by-moments", spread_out, spread_out_by_moments, lambda x: spread_out_by_moments(x, 0), (f(6, 4) * 0.5,)),
        ("tversky-by-sums", tversky, tversky_by_sums, lambda *a: tversky_by_sums(*a, alpha=0.4), (f(2, 3, 4), whole(2, 2, 3, 4).float())),
        ("mixup-by-soft-labels", mixed_labels, mixed_labels_soft, lambda *a: mixed_labels_soft(*a, swapped=True), (f(4, 5), whole(5, 4), torch.tensor([4, 0, 1, 2]), torch.tensor(0.3))),
        ("distillation-by-entropy", distilled, distilled_by_entropy, lambda *a: distilled_by_entropy(*a, heat=1), pair),
        ("spectral-after", spectral, spectral_after, lambda *a: spectral_after(*a, sides=False), (f(3, 5), f(4, 5), f(4), f(5))),
        ("adamw-at-once", adam_decoupled, adam_decoupled_at_once, lambda *a: adam_decoupled_at_once(*a, decay=0.2), step),
        ("orthogonal-by-columns", orthogonalised, orthogonalised_by_columns, lambda g: orthogonalised_by_columns(g, 2.5), (f(3, 4),)),
        ("factored-by-roots", factored, factored_by_roots, lambda g, r, c: factored_by_roots(g, r * 2, c), (f(3, 4), f(3).abs() + 1, f(4).abs() + 1)),
        ("rmsprop-fused", centred_step, centred_step_fused, lambda *a: centred_step_fused(*a, centre=1), (f(3, 4), f(3, 4), f(3, 4).abs() + 4, f(3, 4))),
        ("clip-by-factor", clipped_rows, clipped_rows_by_factor, lambda *a: clipped_rows_by_factor(*a, rate=0.2), (f(4, 3), f(4, 3))),
        ("policy-by-sign", bounded_policy, bounded_policy_by_sign, lambda *a: bounded_policy_by_sign(*a, high=1.1), (f(12) * 0.3, f(12) * 0.3, f(12))),
        ("advantages-by-product", advantages, advantages_by_product, lambda *a: advantages_by_product(*a, rate=0.8), (f(5), f(6))),
        ("log-cosh-by-softplus", log_cosh, log_cosh_by_softplus, lambda *a: log_cosh_by_softplus(*a, shift=3.0), pair),
        ("discrepancy-signed", discrepancy, discrepancy_signed, lambda *a: discrepancy_signed(*a, sign=1.0), (f(4, 3), f(5, 3))),
        ("alignment-by-grams", alignment, alignment_by_grams, lambda *a: alignment_by_grams(*a, turned=True), (f(5, 3), f(5, 4))),
        ("margin-by-sum", margin, margin_by_sum, lambda *a: margin_by_sum(*a, angle=0.4), (f(5, 3), f(4, 3), whole(4, 5))),
        ("likelihood-by-logs", gaussian_likelihood, gaussian_likelihood_by_logs, lambda *a: gaussian_likelihood_by_logs(*a, half=1.0), (f(4, 5), f(4, 5), f(4, 5) * 0.5)),
        ("earth-mover-by-product", earth_mover, earth_mover_by_product, lambda *a: earth_mover_by_product(*a, classes=3), pair),
    ]
