"""Losses and steps of optimisers, as people rewrite them."""

import torch
from torch.nn import functional as F

from .operands import normal, whole


def smoothed_by_mean(x, t, share=0.1):
    logp = F.log_softmax(x, -1)
    picked = -logp.gather(-1, t[:, None]).squeeze(-1)
    return ((1 - share) * picked - share * logp.mean(-1)).mean()


def smoothed_wrongly(x, t):
    logp = F.log_softmax(x, -1)
    picked = -logp.gather(-1, t[:, None]).squeeze(-1)
    return (0.9 * picked - 0.1 / 6 * logp.sum(-1)).mean()


def huber(x, y):
    d = x - y
    return torch.where(d.abs() <= 0.5, 0.5 * d * d, 0.5 * (d.abs() - 0.25)).sum()


def huber_by_clamp(x, y, bound=0.5):
    d = (x - y).abs()
    near = torch.clamp(d, max=bound)
    return (near * (d - 0.5 * near)).sum()


def smooth_l1(x, y):
    return F.smooth_l1_loss(x, y, beta=2.0)


def smooth_l1_by_minimum(x, y, half=0.5):
    d = (x - y).abs()
    near = torch.minimum(d, torch.full_like(d, 2.0))
    return (half * near.square() / 2.0 + (d - near)).mean()


def weighted_binary(x, t, w):
    return F.binary_cross_entropy_with_logits(x, t, pos_weight=w)


def weighted_by_softplus(x, t, w, swapped=False):
    a, b = t * F.softplus(-x), (1 - t) * F.softplus(x)
    return (a + w * b if swapped else w * a + b).mean()


def class_weighted(x, t, w):
    return F.cross_entropy(x, t, weight=w)


def class_weighted_by_hand(x, t, w, plain=False):
    nll = x.logsumexp(-1) - x.gather(-1, t[:, None])[:, 0]
    picked = w[t]
    return (picked * nll).mean() if plain else (picked * nll).sum() / picked.sum()


def ignoring(x, t):
    return F.cross_entropy(x, t, ignore_index=-100)


def ignoring_by_mask(x, t, ignored=-100):
    keep = (t != ignored)
    logp = x.log_softmax(-1)
    picked = logp.gather(-1, t.clamp(min=0)[:, None])[:, 0]
    return -(picked * keep).sum() / keep.sum()


def divergence(x, y):
    return F.kl_div(F.log_softmax(x, -1), F.log_softmax(y, -1), log_target=True, reduction="batchmean")


def divergence_by_hand(x, y, reverse=False):
    p, q = x.softmax(-1), y.softmax(-1)
    return ((p * (p.log() - q.log()) if reverse else q * (q.log() - p.log())).sum(-1)).mean()


def dice(x, t):
    p = x.sigmoid()
    return 1 - (2 * (p * t).sum((1, 2)) + 1) / (p.sum((1, 2)) + t.sum((1, 2)) + 1)


def dice_by_union(x, t, smooth=1.0):
    p, t = (1 / (1 + torch.exp(-x))).flatten(1), t.flatten(1)
    both = torch.einsum("bn,bn->b", p, t)
    total = (p + t).sum(-1)
    return (total - 2 * both) / (total + smooth)


def triplets(a, p, n):
    return F.triplet_margin_loss(a, p, n, margin=0.3, eps=0)


def triplets_by_hand(a, p, n, margin=0.3):
    far = lambda x, y: (x - y).square().sum(-1).sqrt()
    return torch.clamp(far(a, p) - far(a, n) + margin, min=0).mean()


def contrasted(a, b):
    s = F.normalize(a, dim=-1) @ F.normalize(b, dim=-1).T / 0.07
    return F.cross_entropy(s, torch.arange(4))


def contrasted_by_diagonal(a, b, dim=-1):
    s = F.normalize(a, dim=-1) @ F.normalize(b, dim=-1).T / 0.07
    return (torch.logsumexp(s, dim) - s.diagonal()).mean()


def preferred(chosen, rejected, other, worse):
    return -F.logsigmoid(0.1 * ((chosen - rejected) - (other - worse))).mean()


def preferred_by_ratios(chosen, rejected, other, worse, sign=-1):
    return F.softplus(0.1 * (rejected - worse) + sign * 0.1 * (chosen - other)).mean()


def gaussian(mu, logvar):
    return -0.5 * torch.sum(1 + logvar - mu.pow(2) - logvar.exp(), dim=-1).mean()


def gaussian_by_deviation(mu, logvar, half=0.5):
    sigma = torch.exp(half * logvar)
    return ((sigma**2 + mu**2 - 1) / 2 - sigma.log()).sum(-1).mean()


def cosine_pairs(a, b, y):
    c = F.cosine_similarity(a, b, dim=-1)
    return torch.where(y == 1, 1 - c, (c - 0.2).clamp(min=0)).mean()


def cosine_pairs_by_products(a, b, y, margin=0.2):
    near = (y == 1).to(a.dtype)
    c = (a * b).sum(-1) / (a.norm(dim=-1).clamp(min=1e-8) * b.norm(dim=-1).clamp(min=1e-8))
    return (near * (1 - c) + (1 - near) * F.relu(c - margin)).mean()


def regularised(x, t):
    z = torch.logsumexp(x, -1)
    return F.cross_entropy(x, t) + 1e-2 * (z * z).mean()


def regularised_by_logs(x, t, rate=1e-2):
    z = x.exp().sum(-1).log()
    return (z - x.gather(1, t.unsqueeze(1)).squeeze(1) + rate * z.square()).mean()


def tokens_in_chunks(x, w, t, size=3, skip=0):
    total = 0.0
    for start in range(skip, 6, size):
        total = total + F.cross_entropy(x[start:start + size] @ w, t[start:start + size], reduction="sum")
    return total / 6


def tokens(x, w, t):
    return F.cross_entropy(x @ w, t)


def squared(x, y):
    return F.mse_loss(x, y)


def squared_by_moments(x, y, correction=0):
    d = x - y
    return d.var(correction=correction) + d.mean() ** 2


def momentum(p, g, m):
    m = 0.9 * m + g + 0.01 * p
    return p - 0.1 * (g + 0.01 * p + 0.9 * m), m


def momentum_in_place(p, g, m, decay=0.01):
    g = g.add(p, alpha=decay)
    m = m.mul(0.9).add_(g)
    return p.add(g.add(m, alpha=0.9), alpha=-0.1), m


def clipped(g, h):
    total = torch.sqrt(g.square().sum() + h.square().sum())
    rate = torch.clamp(1.0 / (total + 1e-6), max=1.0)
    return g * rate, h * rate


def clipped_by_stack(g, h, eps=1e-6):
    total = torch.linalg.vector_norm(torch.stack([torch.linalg.vector_norm(g), torch.linalg.vector_norm(h)]))
    rate = (1.0 / (total + eps)).clamp(max=1.0)
    return g * rate, h * rate


def lion(p, g, m):
    return p * (1 - 1e-3) - 1e-2 * torch.sign(0.9 * m + 0.1 * g), 0.99 * m + 0.01 * g


def lion_by_lerp(p, g, m, last=0.01):
    return p - 1e-3 * p - 1e-2 * torch.lerp(m, g, 0.1).sign(), torch.lerp(m, g, last)


def ranked(s, t):
    return F.margin_ranking_loss(s[:, None].expand(5, 5), s[None].expand(5, 5), torch.sign(t[:, None] - t[None]), margin=0.1)


def ranked_by_relu(s, t, margin=0.1):
    d = s.unsqueeze(1) - s.unsqueeze(0)
    return F.relu(margin - (t.unsqueeze(1) - t.unsqueeze(0)).sign() * d).mean()


def entropy(x):
    p = x.softmax(-1)
    return -(p * p.log()).sum(-1).mean()


def entropy_by_shift(x, scale=1.0):
    z = x - x.amax(-1, keepdim=True)
    e = z.exp()
    total = e.sum(-1)
    return (total.log() - (e * z).sum(-1) / total * scale).mean()


def quantiles(x, y):
    q = torch.tensor([0.1, 0.5, 0.9])
    d = y[:, None] - x
    return torch.maximum(q * d, (q - 1) * d).mean()


def quantiles_by_parts(x, y, high=0.9):
    q = torch.tensor([0.1, 0.5, high])
    d = y.unsqueeze(-1) - x
    return (q * F.relu(d) + (1 - q) * F.relu(-d)).mean()


def rewrites():
    logits = lambda: (normal(6, 7), whole(7, 6))
    pair = lambda: (normal(4, 5) * 2, normal(4, 5) * 2)
    return [
        ("smoothing-by-mean", lambda x, t: F.cross_entropy(x, t, label_smoothing=0.1), smoothed_by_mean, smoothed_wrongly, logits()),
        ("huber-by-clamp-sum", huber, huber_by_clamp, lambda *a: huber_by_clamp(*a, bound=1.0), pair()),
        ("smooth-l1-by-minimum", smooth_l1, smooth_l1_by_minimum, lambda *a: smooth_l1_by_minimum(*a, half=1.0), pair()),
        ("binary-by-softplus", weighted_binary, weighted_by_softplus, lambda *a: weighted_by_softplus(*a, swapped=True), (normal(4, 5), whole(2, 4, 5).float(), normal(5).abs())),
        ("class-weights-by-hand", class_weighted, class_weighted_by_hand, lambda *a: class_weighted_by_hand(*a, plain=True), (*logits(), normal(7).abs())),
        ("ignored-by-mask", ignoring, ignoring_by_mask, lambda *a: ignoring_by_mask(*a, ignored=-1), (normal(6, 7), torch.tensor([1, -100, 3, 4, -100, 6]))),
        ("divergence-by-hand", divergence, divergence_by_hand, lambda *a: divergence_by_hand(*a, reverse=True), (normal(4, 6), normal(4, 6))),
        ("dice-by-union", dice, dice_by_union, lambda *a: dice_by_union(*a, smooth=2.0), (normal(2, 3, 4), whole(2, 2, 3, 4).float())),
        ("triplets-by-hand", triplets, triplets_by_hand, lambda *a: triplets_by_hand(*a, margin=0.5), (normal(4, 5), normal(4, 5), normal(4, 5))),
        ("contrast-by-diagonal", contrasted, contrasted_by_diagonal, lambda *a: contrasted_by_diagonal(*a, dim=0), (normal(4, 6), normal(4, 6))),
        ("preference-by-ratios", preferred, preferred_by_ratios, lambda *a: preferred_by_ratios(*a, sign=1), tuple(normal(5) for _ in range(4))),
        ("gaussian-by-deviation", gaussian, gaussian_by_deviation, lambda *a: gaussian_by_deviation(*a, half=1.0), (normal(3, 4), normal(3, 4))),
        ("cosine-pairs-by-products", cosine_pairs, cosine_pairs_by_products, lambda *a: cosine_pairs_by_products(*a, margin=0.1), (normal(6, 5), normal(6, 5), whole(2, 6) * 2 - 1)),
        ("z-loss-by-logs", regularised, regularised_by_logs, lambda *a: regularised_by_logs(*a, rate=2e-2), logits()),
        ("cross-entropy-in-chunks", tokens, tokens_in_chunks, lambda *a: tokens_in_chunks(*a, skip=3), (normal(6, 4), normal(4, 7), whole(7, 6))),
        ("squares-by-moments", squared, squared_by_moments, lambda *a: squared_by_moments(*a, correction=1), pair()),
        ("momentum-in-place", momentum, momentum_in_place, lambda *a: momentum_in_place(*a, decay=0.02), tuple(normal(3, 4) for _ in range(3))),
        ("clipping-by-stack", clipped, clipped_by_stack, lambda *a: clipped_by_stack(*a, eps=1e-2), (normal(3, 4), normal(5))),
        ("lion-by-lerp", lion, lion_by_lerp, lambda *a: lion_by_lerp(*a, last=0.1), tuple(normal(3, 4) for _ in range(3))),
        ("ranking-by-relu", ranked, ranked_by_relu, lambda *a: ranked_by_relu(*a, margin=0.2), (normal(5), normal(5))),
        ("entropy-by-shift", entropy, entropy_by_shift, lambda x: entropy_by_shift(x, 0.5), (normal(3, 6),)),
        ("quantiles-by-parts", quantiles, quantiles_by_parts, lambda *a: quantiles_by_parts(*a, high=0.8), (normal(4, 3), normal(4))),
    ]
