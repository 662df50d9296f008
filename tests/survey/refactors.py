#!/usr/bin/env python3
"""Programs that people rewrite by hand: each with an equal form and with one that has a single mistake.

    nice -n 10 python3 tests/survey/refactors.py export FOLDER
    python3 tests/survey/refactors.py check FOLDER target/release/magneton-ir [--held-out]

An equal form should be `equivalent`, one with a mistake `different` (and never `equivalent`). A checksum of the name decides which half is held out."""

import argparse
import hashlib
import json
import math
from pathlib import Path

FORMS = ("written", "equal", "wrong")


def rewrites():
    """Name, as written, equal, wrong, operands."""
    import by_hand
    import further_refactors
    import torch
    from torch.nn import functional as F

    f = lambda *shape: torch.randn(shape)
    i = lambda high, *shape: torch.randint(0, high, shape)

    def gru(x, h, w, u, b):
        r, z, n = (x @ w + b).chunk(3, -1)
        hr, hz, hn = (h @ u).chunk(3, -1)
        z = torch.sigmoid(z + hz)
        return (1 - z) * torch.tanh(n + torch.sigmoid(r + hr) * hn) + z * h

    def gru_parts(x, h, w, u, b, sign=1):
        d = h.shape[-1]
        gate = lambda k: torch.sigmoid(x @ w[:, k * d:(k + 1) * d] + b[k * d:(k + 1) * d] + h @ u[:, k * d:(k + 1) * d])
        n = torch.tanh(x @ w[:, 2 * d:] + b[2 * d:] + gate(0) * (h @ u[:, 2 * d:]))
        return n + sign * gate(1) * (h - n)

    def attention(q, k, v):
        return F.scaled_dot_product_attention(q, k, v, is_causal=True)

    def by_rows(q, k, v, shift=0):
        out = []
        for t in range(q.shape[2]):
            s = q[:, :, t:t + 1] @ k[:, :, :t + 1 + shift].mT / math.sqrt(q.shape[-1])
            out.append(s.softmax(-1) @ v[:, :, :t + 1 + shift])
        return torch.cat(out, 2)

    def pixel_shuffle(x):
        return F.pixel_shuffle(x, 2)

    def shuffled(x, order=(0, 1, 4, 2, 5, 3)):
        b, c, h, w = x.shape
        return x.view(b, c // 4, 2, 2, h, w).permute(order).reshape(b, c // 4, 2 * h, 2 * w)

    def windows(x):
        return x.unfold(1, 4, 4).mean(-1)

    def focal(x, y):
        p = torch.sigmoid(x)
        return -(y * (1 - p) ** 2 * torch.log(p) + (1 - y) * p**2 * torch.log(1 - p)).mean()

    def focal_stable(x, y, power=2):
        p = torch.sigmoid(x)
        return (y * (1 - p) ** power * F.softplus(-x) + (1 - y) * p**2 * F.softplus(x)).mean()

    def adam(p, g, m, v):
        m = 0.9 * m + 0.1 * g
        v = 0.999 * v + 0.001 * g * g
        return p - 0.01 * (m / 0.19) / ((v / 0.001999).sqrt() + 1e-8), m, v

    def adam_fused(p, g, m, v, beta=0.999):
        m = torch.lerp(m, g, 0.1)
        v = (beta * v).addcmul(g, g, value=0.001)
        return p.addcdiv(m, v.sqrt() / math.sqrt(0.001999) + 1e-8, value=-0.01 / 0.19), m, v

    def discounted(r):
        out, last = [], torch.zeros_like(r[0])
        for t in reversed(range(r.shape[0])):
            last = r[t] + 0.9 * last
            out.insert(0, last)
        return torch.stack(out)

    def discounted_product(r, rate=0.9):
        t = torch.arange(r.shape[0])
        d = t[None] - t[:, None]
        return torch.where(d >= 0, rate ** d.clamp(min=0).to(r.dtype), 0.0) @ r

    def gat(e, index):
        top = torch.zeros(5).scatter_reduce(0, index, e, "amax", include_self=False)
        e = (e - top[index]).exp()
        return e / torch.zeros(5).index_add(0, index, e)[index]

    def gat_dense(e, index, fill=0.0):
        hot = F.one_hot(index, 5).to(e.dtype)
        w = e.exp()
        return w / (hot @ (hot.T @ w) + fill)

    def box(b):
        cx, cy, w, h = b.unbind(-1)
        return torch.stack([cx - 0.5 * w, cy - 0.5 * h, cx + 0.5 * w, cy + 0.5 * h], -1)

    def box_product(b, half=0.5):
        m = torch.tensor([[1, 0, 1, 0], [0, 1, 0, 1], [-half, 0, 0.5, 0], [0, -0.5, 0, 0.5]])
        return b @ m

    def norm(x, w, b):
        return F.batch_norm(x, None, None, w, b, training=True)

    def norm_parts(x, w, b, correction=0):
        v, m = torch.var_mean(x, dim=(0, 2), correction=correction, keepdim=True)
        return (x - m) * (v + 1e-5).rsqrt() * w[:, None] + b[:, None]

    def experts(x, gate, w):
        p = (x @ gate).softmax(-1)
        top, chosen = p.topk(2, -1)
        return torch.einsum("tk,tkde,td->te", top, w[chosen], x)

    def experts_dense(x, gate, w, k=2):
        p = (x @ gate).softmax(-1)
        top, chosen = p.topk(2, -1)
        return (torch.zeros_like(p).scatter(1, chosen[:, :k], top[:, :k]).unsqueeze(-1) * torch.einsum("td,nde->tne", x, w)).sum(1)

    upsample = lambda x, size=(6, 10): F.interpolate(x, size=size, mode="nearest")
    grid = lambda t, corners=False: F.affine_grid(t, [2, 3, 4, 5], align_corners=corners)

    def grid_parts(t, right=0.8):
        x = torch.linspace(-0.8, right, 5)
        y = torch.linspace(-0.75, 0.75, 4)
        place = torch.stack([x.expand(4, 5), y[:, None].expand(4, 5), torch.ones(4, 5)], -1)
        return torch.einsum("hwk,bik->bhwi", place, t)

    def rope(x, c, s):
        a, b = x[..., ::2], x[..., 1::2]
        return torch.stack((a * c - b * s, a * s + b * c), -1).flatten(-2)

    def rope_matrix(x, c, s, sign=-1):
        turned = torch.stack((sign * x[..., 1::2], x[..., ::2]), -1).flatten(-2)
        return x * c.repeat_interleave(2, -1) + turned * s.repeat_interleave(2, -1)

    def quantised(x, q, s):
        return x @ (q.float() * s[:, None]).T

    def crf(a, t):
        return torch.logsumexp(a[:, :, None] + t, 1)

    def crf_safe(a, t, dim=1):
        z = a[:, :, None] + t
        m = z.max(dim, keepdim=True).values
        return ((z - m).exp().sum(dim).log() + m.squeeze(dim))

    cases = [
        ("gru-by-gates", gru, gru_parts, lambda *a: gru_parts(*a, sign=-1), (f(3, 4), f(3, 5), f(4, 15), f(5, 15), f(15))),
        ("causal-by-rows", attention, by_rows, lambda *a: by_rows(*a, shift=1), (f(1, 2, 5, 8),) * 3),
        ("pixel-shuffle", pixel_shuffle, shuffled, lambda x: shuffled(x, (0, 1, 4, 3, 5, 2)), (f(2, 8, 3, 3),)),
        ("mean-of-windows", windows, lambda x: F.avg_pool1d(x.unsqueeze(0), 4).squeeze(0), lambda x: x.unfold(1, 4, 4).sum(-1) / 5, (f(3, 12),)),
        ("focal-by-softplus", focal, focal_stable, lambda *a: focal_stable(*a, power=3), (f(4, 5), f(4, 5))),
        ("adam-fused", adam, adam_fused, lambda *a: adam_fused(*a, beta=0.99), (f(4, 5), f(4, 5), f(4, 5), f(4, 5).abs())),
        ("discounted-sum", discounted, discounted_product, lambda r: discounted_product(r, 0.91), (f(5, 3),)),
        ("edge-softmax", gat, gat_dense, lambda *a: gat_dense(*a, fill=0.1), (f(9), i(5, 9))),
        ("corners-by-product", box, box_product, lambda b: box_product(b, 0.4), (f(2, 7, 4),)),
        ("batch-statistics", norm, norm_parts, lambda *a: norm_parts(*a, correction=1), (f(4, 6, 5), f(6), f(6))),
        ("experts-gathered", experts, experts_dense, lambda *a: experts_dense(*a, k=1), (f(5, 4), f(4, 6), f(6, 4, 3))),
        ("nearest-by-repeat", upsample, lambda x: x.repeat_interleave(2, 2).repeat_interleave(2, 3), lambda x: x.repeat(1, 1, 2, 2), (f(1, 2, 3, 5),)),
        ("grid-by-product", grid, grid_parts, lambda t: grid_parts(t, 1.0), (f(2, 2, 3),)),
        ("rope-turned", rope, rope_matrix, lambda *a: rope_matrix(*a, sign=1), (f(2, 3, 8), f(3, 4), f(3, 4))),
        ("scale-after-product", quantised, lambda x, q, s: (x @ q.float().T) * s, lambda x, q, s: (x @ q.float().T) / s,
         (f(3, 8), i(7, 5, 8).to(torch.int8), f(5))),
        ("logsumexp-by-hand", crf, crf_safe, lambda *a: crf_safe(*a, dim=2), (f(2, 4), f(4, 4))),
        ("norm-of-product", lambda x, y: torch.cdist(x, y, compute_mode="donot_use_mm_for_euclid_dist") ** 2,
         lambda x, y: ((x[:, None] - y[None]) ** 2).sum(-1), lambda x, y: ((x[:, None] - y[None]) ** 2).sum(-1).sqrt(), (f(4, 3), f(5, 3))),
        ("glu-by-slices", lambda x: F.glu(x, 1), lambda x: x[:, :3] * torch.sigmoid(x[:, 3:]), lambda x: x[:, 3:] * torch.sigmoid(x[:, :3]), (f(2, 6, 4),)),
        ("transposed-convolution", lambda x, w: F.conv_transpose1d(x, w, stride=2),
         lambda x, w: F.conv1d(F.pad(torch.stack([x, torch.zeros_like(x)], -1).flatten(-2)[..., :-1], (2, 2)), w.flip(-1).transpose(0, 1)),
         lambda x, w: F.conv1d(F.pad(torch.stack([x, torch.zeros_like(x)], -1).flatten(-2)[..., :-1], (2, 2)), w.transpose(0, 1)), (f(1, 3, 5), f(3, 4, 3))),
        ("straight-mean", lambda x: x.view(3, -1).mean(1), lambda x: x.mean((1, 2)), lambda x: x.mean(1).amax(1), (f(3, 4, 5),)),
        ("entropy", lambda x: -(x.softmax(-1) * x.log_softmax(-1)).sum(-1), lambda x: x.logsumexp(-1) - (x.softmax(-1) * x).sum(-1),
         lambda x: x.logsumexp(-1) - (x.softmax(-1) * x).mean(-1), (f(4, 6),)),
        ("soft-update", lambda t, s: 0.995 * t + 0.005 * s, lambda t, s: t + 0.005 * (s - t), lambda t, s: t + 0.05 * (s - t), (f(6, 5), f(6, 5))),
        ("conv-as-product", lambda x, w: F.conv1d(x, w), lambda x, w: torch.einsum("bcnk,ock->bon", x.unfold(2, 3, 1), w),
         lambda x, w: torch.einsum("bcnk,ock->bon", x.unfold(2, 3, 1), w.flip(-1)), (f(2, 3, 8), f(4, 3, 3))),
        ("mask-by-where", lambda x, m: x.masked_fill(m, -1e9).softmax(-1), lambda x, m: torch.where(m, torch.full_like(x, -1e9), x).softmax(-1),
         lambda x, m: torch.where(m, x, torch.full_like(x, -1e9)).softmax(-1), (f(3, 6), i(2, 3, 6).bool())),
        ("group-norm-by-hand", lambda x, w, b: F.group_norm(x, 2, w, b),
         lambda x, w, b: F.layer_norm(x.reshape(2, 2, -1), (3 * 5,)).reshape(x.shape) * w[:, None] + b[:, None],
         lambda x, w, b: F.layer_norm(x.reshape(2, 2, -1), (3 * 5,), eps=1e-3).reshape(x.shape) * w[:, None] + b[:, None], (f(2, 6, 5), f(6), f(6))),
        ("embedding-by-one-hot", lambda x, t: F.embedding(x, t), lambda x, t: F.one_hot(x, 7).to(t.dtype) @ t, lambda x, t: F.one_hot(x, 7).to(t.dtype) @ t.flip(0),
         (i(7, 2, 5), f(7, 4))),
    ]
    return {name: dict(zip(FORMS, forms), operands=operands) for name, *forms, operands in cases + further_refactors.rewrites() + by_hand.rewrites()}


def held_out(name):
    return hashlib.sha256(name.encode()).digest()[0] % 2 == 0


def export(folder):
    import torch
    from exporting import quiet
    from models.layers import Call

    quiet()
    folder.mkdir(parents=True, exist_ok=True)
    torch.manual_seed(0)
    for name, case in rewrites().items():
        results = {}
        for form in FORMS:
            results[form] = case[form](*case["operands"])
            path = folder / f"{name}.{form}.pt2"
            if not path.exists():
                torch.export.save(torch.export.export(Call(case[form]), case["operands"], strict=False), str(path))
        # What the labels say is what PyTorch computes.
        assert same(results["written"], results["equal"]) and not same(results["written"], results["wrong"]), name


def same(a, b):
    import torch

    a, b = ([x] if isinstance(x, torch.Tensor) else x for x in (a, b))
    return all(x.shape == y.shape and torch.allclose(x, y, rtol=1e-4, atol=1e-5, equal_nan=True) for x, y in zip(a, b))


def check(folder, binary, part):
    from checking import call

    counts = {form: {} for form in FORMS[1:]}
    for name in sorted({path.name.split(".")[0] for path in folder.glob("*.written.pt2")}):
        if held_out(name) != part:
            continue
        for form in FORMS[1:]:
            run = call(folder, binary, "check", f"{name}.written.pt2", f"{name}.{form}.pt2", "--no-cache", "--format", "json")
            verdict = json.loads(run.output)["verdict"] if run.status in (0, 1) else "not read"
            counts[form][verdict] = counts[form].get(verdict, 0) + 1
            if not part:
                print(f"{name}  {form}  {verdict}  {run.seconds:.2f} s")
    for form, verdicts in counts.items():
        print(f"{form}: " + ", ".join(f"{number} {verdict}" for verdict, number in sorted(verdicts.items())))


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("command", choices=("export", "check"))
    parser.add_argument("folder", type=Path)
    parser.add_argument("binary", nargs="?", type=lambda path: str(Path(path).resolve()))
    parser.add_argument("--held-out", action="store_true", help="the half that nobody looks at while magneton-ir is worked on: only its counts are printed")
    args = parser.parse_args()
    if args.command == "export":
        export(args.folder)
    elif args.binary:
        check(args.folder, args.binary, args.held_out)
    else:
        parser.error("check needs the program")


if __name__ == "__main__":
    main()
