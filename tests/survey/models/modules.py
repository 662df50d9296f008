"""Small modules as people write them: parts of models, losses, update steps, what comes before and after a model."""

import math

import torch
from torch import nn
from torch.nn import functional as F

from .entry import Entry
from .inputs import bools, floats, longs
from .layers import Call

# --- resampling, padding, convolutions ---------------------------------------------------------------------------


def resampled_1d(x):
    return F.interpolate(x, scale_factor=1.7, mode="linear", align_corners=True), F.interpolate(x, size=13, mode="nearest")


def resampled_2d(x):
    return F.interpolate(x, scale_factor=(0.5, 1.5), mode="bicubic", align_corners=True), F.interpolate(x, size=(5, 17), mode="bicubic")


def resampled_3d(x):
    return F.interpolate(x, scale_factor=2, mode="trilinear", align_corners=True), F.interpolate(x, size=(3, 7, 9), mode="nearest")


def resampled_exact(x):
    return F.interpolate(x, size=(7, 3, 5), mode="nearest-exact"), F.interpolate(x, scale_factor=(1.0, 0.5, 2.0), mode="trilinear")


def antialiased(x):
    return F.interpolate(x, size=(5, 6), mode="bicubic", antialias=True)


class Decoder(nn.Module):
    """A decoder with skips: upsampling without corners, concatenation."""

    def __init__(self):
        super().__init__()
        self.down = nn.Conv2d(3, 12, 3, 2, 1)
        self.deep = nn.Conv2d(12, 20, 3, 2, 1)
        self.up = nn.Conv2d(32, 12, 3, padding="same")
        self.out = nn.Conv2d(15, 4, 1)

    def forward(self, x):
        a = F.elu(self.down(x))
        b = F.elu(self.deep(a))
        y = F.elu(self.up(torch.cat([F.interpolate(b, size=a.shape[-2:], mode="bilinear", align_corners=False), a], 1)))
        return self.out(torch.cat([F.interpolate(y, scale_factor=2, mode="nearest"), x], 1)).sigmoid()


class OddConvolutions(nn.Module):
    def __init__(self):
        super().__init__()
        self.layers = nn.Sequential(
            nn.Conv2d(6, 12, (3, 5), padding="same", dilation=(2, 1), groups=3, padding_mode="reflect"), nn.Hardswish(),
            nn.Conv2d(12, 12, 4, padding="same", groups=12, padding_mode="circular"), nn.BatchNorm2d(12), nn.SiLU(),
            nn.Conv2d(12, 9, (1, 7), (2, 3), (0, 3), padding_mode="replicate"), nn.ConvTranspose2d(9, 6, 3, 2, 1, 1, groups=3, dilation=2),
        )

    def forward(self, x):
        return self.layers(x)


class DilatedCausal(nn.Module):
    """Gated causal convolutions of growing dilation, as for raw audio."""

    def __init__(self, channels=16):
        super().__init__()
        self.filters = nn.ModuleList(nn.Conv1d(channels, 2 * channels, 2, dilation=2**i) for i in range(3))
        self.mix = nn.ModuleList(nn.Conv1d(channels, channels, 1) for _ in range(3))

    def forward(self, x):
        skips = 0
        for i, (both, mix) in enumerate(zip(self.filters, self.mix)):
            a, b = both(F.pad(x, (2**i, 0))).chunk(2, 1)
            y = mix(torch.tanh(a) * torch.sigmoid(b))
            skips = skips + y
            x = x + y
        return skips.relu()


def volumes(x, w, u):
    return F.conv_transpose3d(F.conv3d(x, w, stride=(1, 2, 2), padding=(1, 0, 1), dilation=(1, 2, 1), groups=2), u, stride=2, output_padding=(1, 0, 1))


def overlapped(x):
    """Patches that overlap, weighted, put back and divided by how many cover a pixel."""
    patches = F.unfold(x, (4, 3), padding=(1, 1), stride=(2, 1))
    ones = F.fold(torch.ones_like(patches), (10, 9), (4, 3), padding=(1, 1), stride=(2, 1))
    return F.fold(patches * 0.5, (10, 9), (4, 3), padding=(1, 1), stride=(2, 1)) / ones


def blurred(x):
    """Separable Gaussian of a table that is computed."""
    t = torch.arange(-3, 4, dtype=x.dtype, device=x.device)
    k = torch.exp(-(t**2) / (2 * 1.5**2))
    k = (k / k.sum()).expand(x.shape[1], 1, 1, 7)
    x = F.conv2d(F.pad(x, (3, 3, 0, 0), mode="replicate"), k, groups=x.shape[1])
    return F.conv2d(F.pad(x, (0, 0, 3, 3), mode="reflect"), k.transpose(2, 3), groups=x.shape[1])


class SpatialTransformer(nn.Module):
    def __init__(self):
        super().__init__()
        self.where = nn.Sequential(nn.AvgPool2d(4, ceil_mode=True), nn.Flatten(), nn.Linear(27, 6))

    def forward(self, x):
        theta = self.where(x).view(-1, 2, 3)
        return F.grid_sample(x, F.affine_grid(theta, x.shape, align_corners=True), mode="bilinear", padding_mode="border", align_corners=True)


class Attended(nn.Module):
    """Channel and spatial attention."""

    def __init__(self, channels=16):
        super().__init__()
        self.squeeze = nn.Linear(channels, 4)
        self.excite = nn.Linear(4, channels)
        self.place = nn.Conv2d(2, 1, 7, padding=3, bias=False)

    def forward(self, x):
        mlp = lambda v: self.excite(F.relu(self.squeeze(v)))
        x = x * torch.sigmoid(mlp(x.mean((2, 3))) + mlp(x.amax((2, 3))))[:, :, None, None]
        return x * torch.sigmoid(self.place(torch.cat([x.max(1, keepdim=True)[0], x.mean(1, keepdim=True)], 1)))


def normed_weights(x, v, g):
    return F.conv1d(x, torch._weight_norm(v, g, 0), padding=1)


# --- attention and sequences -------------------------------------------------------------------------------------


class AlibiCached(nn.Module):
    """One step of decoding: slopes per head, a cache that is written at a position."""

    def __init__(self, width=64, heads=4, length=24):
        super().__init__()
        self.heads = heads
        self.qkv = nn.Linear(width, 3 * width, bias=False)
        self.out = nn.Linear(width, width)
        self.register_buffer("k", torch.zeros(2, heads, length, width // heads))
        self.register_buffer("v", torch.zeros(2, heads, length, width // heads))
        self.register_buffer("slopes", torch.tensor([2.0 ** -(2 * i + 2) for i in range(heads)]))

    def forward(self, x, position):
        b, n, c = x.shape
        q, k, v = self.qkv(x).view(b, n, 3, self.heads, -1).permute(2, 0, 3, 1, 4)
        keys = self.k.index_copy(2, position, k)
        values = self.v.index_copy(2, position, v)
        place = torch.arange(keys.shape[2], device=x.device)
        bias = -self.slopes[:, None, None] * (position[:, None] - place).abs()
        bias = bias.masked_fill(place > position[:, None], float("-inf"))
        y = F.scaled_dot_product_attention(q, keys, values, attn_mask=bias)
        return self.out(y.transpose(1, 2).reshape(b, n, c)), keys, values


class Bucketed(nn.Module):
    """Relative positions in buckets that are computed in the graph."""

    def __init__(self, heads=4, buckets=16):
        super().__init__()
        self.table = nn.Embedding(buckets, heads)
        self.buckets = buckets

    def forward(self, q, k, v):
        d = torch.arange(k.shape[-2], device=q.device)[None] - torch.arange(q.shape[-2], device=q.device)[:, None]
        half = self.buckets // 2
        sign = (d > 0).long() * half
        d = d.abs()
        far = 4 + (torch.log(d.float().clamp(min=1) / 4) / math.log(64 / 4) * (half - 4)).long()
        bucket = sign + torch.where(d < 4, d, far.clamp(max=half - 1))
        scores = q @ k.mT + self.table(bucket).permute(2, 0, 1)
        return F.softmax(scores.float(), -1).type_as(v) @ v


class SinkWindow(nn.Module):
    """A sliding window, the first keys always seen, a learned sink in the denominator."""

    def __init__(self, heads=4):
        super().__init__()
        self.sink = nn.Parameter(torch.zeros(heads))

    def forward(self, q, k, v):
        n = q.shape[2]
        i = torch.arange(n, device=q.device)
        seen = (i[None] <= i[:, None]) & ((i[:, None] - i[None] < 6) | (i[None] < 2))
        s = (q @ k.transpose(-1, -2) / math.sqrt(q.shape[-1])).masked_fill(~seen, torch.finfo(q.dtype).min)
        s = torch.cat([s, self.sink.view(1, -1, 1, 1).expand(s.shape[0], -1, n, 1)], -1)
        return F.softmax(s - s.amax(-1, keepdim=True), -1)[..., :-1] @ v


class LatentAttention(nn.Module):
    """Keys and values of a low rank, part of the query rotated."""

    def __init__(self, width=64, heads=4, rank=16, rotated=8):
        super().__init__()
        self.heads, self.rotated = heads, rotated
        self.q = nn.Linear(width, heads * (16 + rotated), bias=False)
        self.down = nn.Linear(width, rank + rotated, bias=False)
        self.norm = nn.RMSNorm(rank)
        self.up = nn.Linear(rank, heads * 32, bias=False)
        self.out = nn.Linear(heads * 16, width, bias=False)

    def rotate(self, x):
        n, d = x.shape[-2:]
        f = torch.outer(torch.arange(n, device=x.device).float(), 10000 ** (-torch.arange(0, d, 2, device=x.device) / d))
        z = torch.view_as_complex(x.float().unflatten(-1, (-1, 2))) * torch.polar(torch.ones_like(f), f)
        return torch.view_as_real(z).flatten(-2).type_as(x)

    def forward(self, x):
        b, n, _ = x.shape
        q, qr = self.q(x).view(b, n, self.heads, -1).transpose(1, 2).split([16, self.rotated], -1)
        low, kr = self.down(x).split([16, self.rotated], -1)
        k, v = self.up(self.norm(low)).view(b, n, self.heads, 32).transpose(1, 2).chunk(2, -1)
        kr = self.rotate(kr[:, None]).expand(-1, self.heads, -1, -1)
        y = F.scaled_dot_product_attention(torch.cat([q, self.rotate(qr)], -1), torch.cat([k, kr], -1), v, is_causal=True)
        return self.out(y.transpose(1, 2).flatten(2))


class Axial(nn.Module):
    """Rotations by row and by column of an image."""

    def forward(self, q):
        b, h, rows, cols, d = q.shape
        f = 100.0 ** (-torch.arange(d // 4, device=q.device) / (d // 4))
        y = (torch.arange(rows, device=q.device)[:, None, None] * f).expand(rows, cols, -1)
        x = (torch.arange(cols, device=q.device)[None, :, None] * f).expand(rows, cols, -1)
        a = torch.cat([y, x], -1)
        q1, q2 = q[..., ::2], q[..., 1::2]
        return torch.stack([q1 * a.cos() - q2 * a.sin(), q1 * a.sin() + q2 * a.cos()], -1).flatten(-2)


class LinearAttention(nn.Module):
    """Without softmax: running sums of outer products."""

    def forward(self, q, k, v):
        q, k = F.elu(q) + 1, F.elu(k) + 1
        state = torch.einsum("bhnd,bhne->bhnde", k, v).cumsum(2)
        norm = 1 / (torch.einsum("bhnd,bhnd->bhn", q, k.cumsum(2)) + 1e-6)
        return torch.einsum("bhnd,bhnde,bhn->bhne", q, state, norm)


class Perceived(nn.Module):
    """Learned queries, a multi-head module with a padding mask, a bias for keys."""

    def __init__(self, width=32):
        super().__init__()
        self.queries = nn.Parameter(torch.zeros(5, width))
        self.attention = nn.MultiheadAttention(width, 4, batch_first=True, add_bias_kv=True, kdim=24, vdim=20)

    def forward(self, k, v, padding):
        return self.attention(self.queries.expand(k.shape[0], -1, -1), k, v, key_padding_mask=padding)


def paged(q, pool, table, lengths):
    """Keys and values are looked up in pages."""
    kv = pool[table].flatten(1, 2)
    k, v = kv.unbind(2)
    hidden = torch.arange(k.shape[1], device=q.device)[None] >= lengths[:, None]
    s = torch.einsum("bhd,bnhd->bhn", q, k) * q.shape[-1] ** -0.5
    return torch.einsum("bhn,bnhd->bhd", s.masked_fill(hidden[:, None], float("-inf")).softmax(-1), v)


class PeepholeLstm(nn.Module):
    def __init__(self, size=12):
        super().__init__()
        self.x, self.h = nn.Linear(8, 4 * size), nn.Linear(size, 4 * size, bias=False)
        self.peep = nn.Parameter(torch.zeros(3, size))

    def forward(self, xs):
        h = c = xs.new_zeros(xs.shape[0], self.h.in_features)
        out = []
        for x in xs.unbind(1):
            i, f, g, o = (self.x(x) + self.h(h)).chunk(4, -1)
            c = torch.sigmoid(f + self.peep[0] * c) * c + torch.sigmoid(i + self.peep[1] * c) * g.tanh()
            h = torch.sigmoid(o + self.peep[2] * c) * c.tanh()
            out.append(h)
        return torch.stack(out, 1)


class Scanned(nn.Module):
    """A recurrence as a higher-order operator."""

    def forward(self, h, xs, w):
        from torch._higher_order_ops.scan import scan

        def step(h, x):
            h = torch.tanh(h @ w + x)
            return h, h.clone()

        return scan(step, h, xs, dim=0)


class Mapped(nn.Module):
    def forward(self, xs, y):
        from torch._higher_order_ops.map import map as mapped

        return mapped(lambda x, y: (x * y).softmax(-1), xs, y)


class SelectiveScan(nn.Module):
    """A state-space layer, its recurrence written as a loop."""

    def __init__(self, width=16, state=4):
        super().__init__()
        self.a = nn.Parameter(torch.zeros(width, state))
        self.d = nn.Parameter(torch.zeros(width))
        self.project = nn.Linear(width, 2 + 2 * state, bias=False)
        self.dt = nn.Linear(2, width)

    def forward(self, u):
        dt, b, c = self.project(u).split([2, 4, 4], -1)
        dt = F.softplus(self.dt(dt))
        decay = torch.exp(dt[..., None] * -torch.exp(self.a))
        inflow = dt[..., None] * b[:, :, None] * u[..., None]
        h, ys = torch.zeros_like(inflow[:, 0]), []
        for t in range(u.shape[1]):
            h = decay[:, t] * h + inflow[:, t]
            ys.append((h * c[:, t, None]).sum(-1))
        return torch.stack(ys, 1) + u * self.d


def long_convolution(u, k, d):
    """A filter as long as the sequence, by FFT."""
    n = u.shape[-1]
    y = torch.fft.irfft(torch.fft.rfft(u, n=2 * n) * torch.fft.rfft(k, n=2 * n), n=2 * n)[..., :n]
    return F.gelu(y + u * d[:, None])


def decayed(r, k, v, w):
    """Receptance and decayed keys, as sums with running maxima."""
    num = den = torch.zeros_like(k[:, 0])
    top = torch.full_like(num, -1e38)
    out = []
    for t in range(k.shape[1]):
        new = torch.maximum(top - torch.exp(w), k[:, t])
        a, b = torch.exp(top - torch.exp(w) - new), torch.exp(k[:, t] - new)
        num, den, top = a * num + b * v[:, t], a * den + b, new
        out.append(torch.sigmoid(r[:, t]) * num / den)
    return torch.stack(out, 1)


# --- experts and routes ------------------------------------------------------------------------------------------


class Capacity(nn.Module):
    """Two experts a token, as many tokens an expert as it has room for, by products with one-hot masks."""

    def __init__(self, width=16, experts=4, room=6):
        super().__init__()
        self.room = room
        self.gate = nn.Linear(width, experts, bias=False)
        self.w1 = nn.Parameter(torch.zeros(experts, width, 32))
        self.w2 = nn.Parameter(torch.zeros(experts, 32, width))

    def forward(self, x):
        p = self.gate(x).softmax(-1)
        weights, chosen = p.topk(2, -1)
        weights = weights / weights.sum(-1, keepdim=True)
        hot = F.one_hot(chosen, p.shape[-1]).to(x.dtype)
        place = (hot.flatten(0, 1).cumsum(0) - 1).view_as(hot)
        hot = hot * (place < self.room)
        slot = F.one_hot((place * hot).sum(-1).long(), self.room).to(x.dtype)
        dispatch = torch.einsum("tke,tkc->tec", hot, slot)
        combine = torch.einsum("tk,tke,tkc->tec", weights, hot, slot)
        h = torch.einsum("tec,td->ecd", dispatch, x)
        h = torch.bmm(F.gelu(torch.bmm(h, self.w1)), self.w2)
        return torch.einsum("tec,ecd->td", combine, h), (p.mean(0) * hot.sum(1).mean(0)).sum() * 4


class DenseExperts(nn.Module):
    """Every expert runs; weights scattered into a dense matrix."""

    def __init__(self, width=16, experts=6):
        super().__init__()
        self.gate = nn.Linear(width, experts)
        self.bias = nn.Parameter(torch.zeros(experts))
        self.up = nn.Parameter(torch.zeros(experts, width, 48))
        self.down = nn.Parameter(torch.zeros(experts, 24, width))

    def forward(self, x):
        score = torch.sigmoid(self.gate(x))
        chosen = torch.topk(score + self.bias, 3, dim=-1, sorted=False)[1]
        w = score.gather(1, chosen)
        w = torch.zeros_like(score).scatter(1, chosen, 2.5 * w / (w.sum(-1, keepdim=True) + 1e-20))
        a, b = torch.einsum("td,edf->etf", x, self.up).chunk(2, -1)
        return torch.einsum("etf,efd,te->td", F.silu(a) * b, self.down, w)


# --- losses, updates ---------------------------------------------------------------------------------------------


def focal(logits, targets):
    p = torch.sigmoid(logits)
    ce = F.binary_cross_entropy_with_logits(logits, targets, reduction="none", pos_weight=torch.full_like(logits[0], 2.0))
    pt = p * targets + (1 - p) * (1 - targets)
    return ((0.25 * targets + 0.75 * (1 - targets)) * (1 - pt) ** 2 * ce).mean()


def dice(logits, labels):
    p = logits.softmax(1)
    y = F.one_hot(labels, logits.shape[1]).movedim(-1, 1).to(p.dtype)
    return 1 - ((2 * (p * y).sum((0, 2, 3)) + 1) / ((p + y).sum((0, 2, 3)) + 1)).mean()


def contrastive(a, b, scale):
    a, b = F.normalize(a, dim=-1), F.normalize(b, dim=-1)
    s = scale.exp().clamp(max=100) * a @ b.t()
    y = torch.arange(s.shape[0], device=s.device)
    return (F.cross_entropy(s, y) + F.cross_entropy(s.t(), y)) / 2


def margins(a, p, n, x, y, t):
    return (
        F.triplet_margin_loss(a, p, n, margin=0.5, swap=True), F.cosine_embedding_loss(a, p, t, margin=0.1), F.multi_margin_loss(x, y, p=2),
        F.margin_ranking_loss(a[:, 0], p[:, 0], t, margin=0.3), F.hinge_embedding_loss(a[:, 1], t, margin=0.8),
    )


def distilled(student, teacher, labels, weight):
    soft = F.kl_div(F.log_softmax(student / 2, -1), F.log_softmax(teacher / 2, -1), reduction="batchmean", log_target=True) * 4
    return 0.7 * soft + 0.3 * F.cross_entropy(student, labels, weight=weight, label_smoothing=0.05, ignore_index=-100)


def mixture_density(pi, mu, log_sigma, y):
    normal = torch.distributions.Normal(mu, log_sigma.exp(), validate_args=False)
    return -torch.logsumexp(F.log_softmax(pi, -1) + normal.log_prob(y[..., None]), -1).mean()


def variational(x, y, mu, logvar):
    return F.binary_cross_entropy(y.sigmoid(), x.clamp(0, 1), reduction="sum") - 0.5 * (1 + logvar - mu.pow(2) - logvar.exp()).sum()


def ppo(logits, actions, old, advantage, value, returns):
    logp = logits.log_softmax(-1)
    taken = logp.gather(-1, actions[:, None]).squeeze(-1)
    ratio = (taken - old).exp()
    adv = (advantage - advantage.mean()) / (advantage.std() + 1e-8)
    policy = -torch.min(ratio * adv, ratio.clamp(0.8, 1.2) * adv).mean()
    entropy = -(logp.exp() * logp).sum(-1).mean()
    return policy + 0.5 * F.smooth_l1_loss(value, returns) - 0.01 * entropy


def advantages(rewards, values, done):
    """Generalised advantages, backwards in time."""
    last, out = torch.zeros_like(rewards[0]), []
    for t in reversed(range(rewards.shape[0])):
        keep = 1.0 - done[t]
        last = rewards[t] + 0.99 * values[t + 1] * keep - values[t] + 0.99 * 0.95 * keep * last
        out.insert(0, last)
    return torch.stack(out)


def squashed(mu, log_std, noise):
    std = log_std.clamp(-20, 2).exp()
    u = mu + std * noise
    logp = (-0.5 * ((u - mu) / std) ** 2 - std.log() - 0.5 * math.log(2 * math.pi)).sum(-1)
    return u.tanh(), logp - (2 * (math.log(2) - u - F.softplus(-2 * u))).sum(-1)


def q_target(q, q_next, q_best, reward, done, actions):
    best = q_best.argmax(1, keepdim=True)
    y = reward + 0.99 * (~done).to(q.dtype) * q_next.gather(1, best).squeeze(1)
    return F.huber_loss(q.gather(1, actions.unsqueeze(1)).squeeze(1), y, delta=2.0)


def adamw(p, g, m, v, step):
    g = g * torch.clamp(1.0 / (g.norm() + 1e-6), max=1.0)
    p = p * (1 - 1e-3 * 0.01)
    m = m.lerp(g, 0.1)
    v = v * 0.999 + 0.001 * g * g
    return p - 1e-3 * (m / (1 - 0.9**step)) / ((v / (1 - 0.999**step)).sqrt() + 1e-8), m, v


def adafactor(p, g, rows, cols):
    sq = g**2 + 1e-30
    rows = 0.8 * rows + 0.2 * sq.mean(-1)
    cols = 0.8 * cols + 0.2 * sq.mean(-2)
    u = g * (rows / rows.mean(-1, keepdim=True)).rsqrt().unsqueeze(-1) * cols.rsqrt().unsqueeze(-2)
    return p - 0.01 * u / u.square().mean().sqrt().clamp(min=1.0), rows, cols


def orthogonalised(g, momentum):
    """Newton-Schulz steps on the momentum."""
    x = g.mul(0.05).add(momentum, alpha=0.95)
    x = x / (x.norm(dim=(-2, -1), keepdim=True) + 1e-7)
    for _ in range(3):
        a = x @ x.mT
        x = 3.4445 * x + (-4.775 * a + 2.0315 * a @ a) @ x
    return x


class Normalised(nn.Module):
    """Batch norm that uses and moves its statistics."""

    def __init__(self):
        super().__init__()
        self.conv = nn.Conv1d(6, 8, 3)
        self.a, self.b = nn.BatchNorm1d(8, momentum=0.3), nn.BatchNorm1d(8, affine=False, momentum=0.02)

    def forward(self, x):
        return self.b(F.leaky_relu(self.a(self.conv(x)), 0.2))


# --- numbers of few bits -----------------------------------------------------------------------------------------


def eight_bits(x, w, scale, bias):
    """Rows of the input quantised as they come, weights before."""
    s = x.abs().amax(-1, keepdim=True).clamp(min=1e-5) / 127
    q = (x / s).round().clamp(-128, 127).to(torch.int8)
    y = torch.ops.aten._int_mm(q, w.t())
    return y.to(x.dtype) * s * scale + bias


def four_bits(x, packed, scales, zeros):
    """Two weights a byte, groups of 16."""
    low, high = packed & 0xF, packed >> 4
    w = torch.stack([low, high], -1).flatten(-2).to(x.dtype)
    w = ((w.unflatten(-1, (-1, 16)) - zeros[..., None]) * scales[..., None]).flatten(-2)
    return F.linear(x, w)


def faked(x, w, scale, zero):
    w = torch.fake_quantize_per_channel_affine(w, scale, zero, 0, -128, 127)
    return F.linear(torch.fake_quantize_per_tensor_affine(x, 0.05, 3, 0, 255), w)


def float8(x, w):
    s = x.abs().max() / 448
    q = (x / s).clamp(-448, 448).to(torch.float8_e4m3fn)
    return (q.to(torch.bfloat16) @ w.to(torch.float8_e4m3fn).to(torch.bfloat16)) * s.to(torch.bfloat16)


# --- before and after a model ------------------------------------------------------------------------------------


def boxes_decoded(deltas, sizes):
    """Anchors of a grid, and the boxes that deltas make of them."""
    shift = (torch.arange(8, device=deltas.device) + 0.5) * 16
    y, x = torch.meshgrid(shift, shift, indexing="ij")
    centres = torch.stack([x, y], -1).reshape(-1, 1, 2)
    anchors = torch.cat([(centres - sizes / 2).flatten(0, 1), (centres + sizes / 2).flatten(0, 1)], -1)
    wh = anchors[:, 2:] - anchors[:, :2]
    c = anchors[:, :2] + 0.5 * wh
    c = deltas[..., :2] * wh + c
    wh = torch.exp(deltas[..., 2:].clamp(max=math.log(1000 / 16))) * wh
    return torch.cat([c - wh / 2, c + wh / 2], -1).clamp(0, 128)


def overlaps(a, b):
    area = lambda t: (t[:, 2] - t[:, 0]) * (t[:, 3] - t[:, 1])
    size = (torch.min(a[:, None, 2:], b[None, :, 2:]) - torch.max(a[:, None, :2], b[None, :, :2])).clamp(min=0)
    inter = size[..., 0] * size[..., 1]
    union = area(a)[:, None] + area(b)[None] - inter
    hull = (torch.max(a[:, None, 2:], b[None, :, 2:]) - torch.min(a[:, None, :2], b[None, :, :2])).clamp(min=0).prod(-1)
    return inter / union - (hull - union) / hull


def detections(logits, boxes):
    """The best of all queries and classes, boxes to corners."""
    score, index = logits.sigmoid().flatten(1).topk(10)
    query = torch.div(index, logits.shape[-1], rounding_mode="floor")
    cx, cy, w, h = boxes.gather(1, query[..., None].expand(-1, -1, 4)).unbind(-1)
    return score, index % logits.shape[-1], torch.stack([cx - w / 2, cy - h / 2, cx + w / 2, cy + h / 2], -1) * 640


def aligned(x, rois):
    import torchvision

    return torchvision.ops.roi_align(x, rois, (3, 3), spatial_scale=0.25, sampling_ratio=2, aligned=True)


def preprocessed(image):
    """Bytes to a normalised, cropped, resized image."""
    x = image.permute(0, 3, 1, 2).float() / 255
    x = F.interpolate(x, size=(24, 32), mode="bilinear", align_corners=False, antialias=True)[..., 4:-4]
    mean, std = x.new_tensor([0.485, 0.456, 0.406]), x.new_tensor([0.229, 0.224, 0.225])
    return (x - mean.view(-1, 1, 1)) / std.view(-1, 1, 1)


def spectrogram(wave, window, filters):
    """Log mel spectrogram, centred frames."""
    wave = torch.cat([wave[:, :1], wave[:, 1:] - 0.97 * wave[:, :-1]], 1)
    power = torch.stft(wave, 64, 16, window=window, center=True, pad_mode="reflect", return_complex=True).abs() ** 2
    mel = torch.matmul(filters, power).clamp(min=1e-10).log10()
    return (torch.maximum(mel, mel.amax((1, 2), keepdim=True) - 8) + 4) / 4


def cepstrum(mel):
    n = mel.shape[1]
    i = torch.arange(n, device=mel.device, dtype=mel.dtype)
    table = torch.cos(math.pi / n * (i[None] + 0.5) * i[:13, None]) * math.sqrt(2 / n)
    table = torch.cat([table[:1] * math.sqrt(0.5), table[1:]])
    return torch.einsum("kn,bnt->bkt", table, mel)


def nucleus(logits, previous, temperature):
    """Repetition penalty, temperature, the smallest set of a mass."""
    seen = logits.gather(1, previous)
    logits = logits.scatter(1, previous, torch.where(seen < 0, seen * 1.2, seen / 1.2)) / temperature
    sorted_logits, order = logits.sort(descending=True)
    drop = sorted_logits.softmax(-1).cumsum(-1) - sorted_logits.softmax(-1) > 0.9
    drop = torch.zeros_like(drop).scatter(1, order, drop)
    return logits.masked_fill(drop, -float("inf")).softmax(-1)


def beams(scores, logits, finished):
    logp = logits.log_softmax(-1)
    stay = torch.full_like(logp, float("-inf"))
    stay[..., 2] = 0.0
    total = scores[..., None] + torch.where(finished[..., None], stay, logp)
    best, flat = total.flatten(1).topk(total.shape[1])
    return best, flat // logits.shape[-1], flat % logits.shape[-1]


# --- graphs, tables, points --------------------------------------------------------------------------------------


class GraphConvolution(nn.Module):
    def __init__(self):
        super().__init__()
        self.w = nn.Linear(8, 12)

    def forward(self, x, edges):
        source, target = edges
        n = x.shape[0]
        degree = torch.ones(n, dtype=x.dtype, device=x.device).index_add(0, target, torch.ones_like(target, dtype=x.dtype))
        norm = degree.rsqrt()
        y = self.w(x)
        out = (y * norm[:, None] ** 2).index_add(0, target, y[source] * (norm[source] * norm[target])[:, None])
        return out.relu()


class GraphAttention(nn.Module):
    """Softmax over the edges of a node."""

    def __init__(self):
        super().__init__()
        self.w = nn.Linear(8, 12, bias=False)
        self.a = nn.Parameter(torch.zeros(3, 8))

    def forward(self, x, source, target):
        h = self.w(x).view(-1, 3, 4)
        e = F.leaky_relu((torch.cat([h[source], h[target]], -1) * self.a).sum(-1), 0.2)
        index = target[:, None].expand_as(e)
        top = torch.full((x.shape[0], 3), -torch.inf, device=x.device, dtype=x.dtype).scatter_reduce(0, index, e, "amax", include_self=True)
        e = torch.exp(e - top[target])
        total = torch.zeros_like(top).scatter_add(0, index, e)
        return torch.zeros_like(h).index_add(0, target, h[source] * (e / (total[target] + 1e-16))[..., None]).flatten(1)


def aggregated(x, group):
    """Mean, maximum, deviation of groups."""
    index = group[:, None].expand_as(x)
    z = x.new_zeros(5, x.shape[1])
    mean = z.scatter_reduce(0, index, x, "mean", include_self=False)
    square = z.scatter_reduce(0, index, x * x, "mean", include_self=False)
    return torch.cat([mean, z.scatter_reduce(0, index, x, "amax", include_self=False), (square - mean**2).clamp(min=1e-5).sqrt()], 1)


def neighbours(points, features):
    near = torch.cdist(points, points).topk(4, dim=-1, largest=False).indices
    batch = torch.arange(points.shape[0], device=points.device)[:, None, None]
    around = features[batch, near]
    centre = features[:, :, None].expand_as(around)
    return torch.cat([centre, around - centre], -1).amax(2)


class Interactions(nn.Module):
    """Tables of categories, pairwise products of what they give."""

    def __init__(self):
        super().__init__()
        self.bags = nn.ModuleList(nn.EmbeddingBag(50, 8, mode="sum") for _ in range(3))
        self.dense = nn.Linear(5, 8)

    def forward(self, dense, a, b, c):
        t = torch.stack([self.dense(dense).relu(), *(bag(i) for bag, i in zip(self.bags, (a, b, c)))], 1)
        z = torch.bmm(t, t.transpose(1, 2))
        i, j = torch.tril_indices(4, 4, -1, device=z.device)
        square_of_sum, sum_of_square = t.sum(1) ** 2, (t**2).sum(1)
        return torch.cat([z[:, i, j], 0.5 * (square_of_sum - sum_of_square)], 1)


def binned(x, edges, table):
    i = torch.bucketize(x, edges, right=True)
    left = torch.searchsorted(edges, x)
    return F.embedding(i, table) + table[left.clamp(max=table.shape[0] - 1)]


def rendered(density, colour, depth):
    """Radiance along rays."""
    step = torch.cat([depth[:, 1:] - depth[:, :-1], torch.full_like(depth[:, :1], 1e10)], -1)
    alpha = 1 - torch.exp(-F.relu(density) * step)
    w = alpha * torch.cumprod(torch.cat([torch.ones_like(alpha[:, :1]), 1 - alpha + 1e-10], -1), -1)[:, :-1]
    return (w[..., None] * colour.sigmoid()).sum(1), (w * depth).sum(1), w.sum(1)


def frequencies(x):
    f = 2.0 ** torch.arange(6, device=x.device) * math.pi
    y = x[..., None, :] * f[:, None]
    return torch.cat([x, torch.stack([y.sin(), y.cos()], -2).flatten(-3)], -1)


# --- algebra -----------------------------------------------------------------------------------------------------


def sinkhorn(scores):
    log_p = scores / 0.1
    for _ in range(3):
        log_p = log_p - torch.logsumexp(log_p, -1, keepdim=True)
        log_p = log_p - log_p.logsumexp(-2, keepdim=True)
    return log_p.exp()


def chain(emissions, transitions, mask):
    """The partition function and the best path's score of a linear chain."""
    alpha = best = emissions[:, 0]
    for t in range(1, emissions.shape[1]):
        alpha_next = torch.logsumexp(alpha[:, :, None] + transitions, 1) + emissions[:, t]
        alpha = torch.where(mask[:, t, None], alpha_next, alpha)
        best = torch.where(mask[:, t, None], (best[:, :, None] + transitions).max(1).values + emissions[:, t], best)
    return alpha.logsumexp(-1), best.amax(-1)


def codebook(x, codes):
    d = x.pow(2).sum(-1, keepdim=True) - 2 * x @ codes.T + codes.pow(2).sum(-1)
    i = d.argmin(-1)
    q = codes[i]
    p = F.one_hot(i, codes.shape[0]).to(x.dtype).mean(0)
    return x + (q - x).detach(), i, F.mse_loss(q, x.detach()) + 0.25 * F.mse_loss(q.detach(), x), torch.exp(-(p * (p + 1e-10).log()).sum())


def capsules(u):
    b = torch.zeros(u.shape[:3], device=u.device, dtype=u.dtype)
    for i in range(3):
        s = torch.einsum("bij,bijd->bjd", b.softmax(2), u)
        n = (s**2).sum(-1, keepdim=True)
        v = n / (1 + n) * s / (n + 1e-8).sqrt()
        b = b + torch.einsum("bijd,bjd->bij", u, v)
    return v


def runge_kutta(x, w, dt):
    f = lambda x: torch.tanh(x @ w)
    k1 = f(x)
    k2 = f(x + dt / 2 * k1)
    k3 = f(x + dt / 2 * k2)
    k4 = f(x + dt * k3)
    return x + dt / 6 * (k1 + 2 * k2 + 2 * k3 + k4)


def kalman(x, p, f, h, q, r, z):
    x, p = f @ x, f @ p @ f.mT + q
    s = h @ p @ h.mT + r
    k = torch.linalg.solve(s, h @ p).mT
    return x + k @ (z - h @ x), p - k @ h @ p


def gaussian_process(x, y, t):
    k = lambda a, b: torch.exp(-0.5 * torch.cdist(a, b) ** 2)
    l = torch.linalg.cholesky(k(x, x) + 0.1 * torch.eye(x.shape[0], device=x.device, dtype=x.dtype))
    alpha = torch.cholesky_solve(y[:, None], l)
    return k(t, x) @ alpha, 2 * l.diagonal().log().sum()


def sums(a, b, c, d):
    return (
        torch.einsum("...ij,...kj,ik->...", a, b, c), torch.einsum("ii->i", d), torch.einsum("bij,bij->b", a, a), torch.einsum("ij,kl->ijkl", c, d),
        torch.tensordot(a, b, dims=([2, 0], [2, 0])), torch.kron(c, d), torch.einsum("bii->b", a[:, :3, :3]),
    )


class Coupling(nn.Module):
    """An invertible step and the logarithm of its determinant."""

    def __init__(self):
        super().__init__()
        self.net = nn.Sequential(nn.Linear(4, 16), nn.Softplus(), nn.Linear(16, 8))
        self.register_buffer("mask", torch.arange(8) % 2 == 0)

    def forward(self, x):
        a, b = x[:, self.mask.nonzero_static(size=4)[:, 0]], x[:, 1::2]
        s, t = self.net(a).chunk(2, -1)
        s = 2 * torch.tanh(s / 2)
        y = torch.empty_like(x)
        y[:, ::2] = a
        y[:, 1::2] = b * s.exp() + t
        return y, s.sum(-1)


def complex_layer(x, y, w, v):
    z = torch.complex(x, y) @ torch.complex(w, v)
    return torch.view_as_real(F.relu(z.real) + 1j * F.relu(z.imag)), z.abs(), z.angle(), torch.exp(z).real, (z * z.conj()).real


def moved(x, i, y):
    """Writes through views, slices with steps, rolled and flipped."""
    z = x.clone()
    z[::2, 1:] *= 2
    z.diagonal(0, 0, 1).fill_(1.0)
    z.narrow(1, 0, 2).add_(y)
    z.index_put_((i,), y.new_ones(i.shape[0], x.shape[1]), accumulate=True)
    return z.roll((1, -2), (0, 1)).flip(0), torch.rot90(z), z.unfold(1, 3, 2), torch.tril(z, -1), z.as_strided((3, 2), (1, 4))


# Name, what is computed (a function, or a class of module), what makes the operands.
MODULES = [
    ("resampled-1d", resampled_1d, lambda: (floats(2, 3, 11),)),
    ("resampled-2d", resampled_2d, lambda: (floats(2, 3, 8, 10),)),
    ("resampled-3d", resampled_3d, lambda: (floats(1, 2, 4, 5, 3),)),
    ("resampled-exact", resampled_exact, lambda: (floats(1, 2, 4, 6, 5),)),
    ("antialiased", antialiased, lambda: (floats(1, 3, 12, 14),)),
    ("decoder", Decoder, lambda: (floats(1, 3, 22, 18),)),
    ("odd-convolutions", OddConvolutions, lambda: (floats(2, 6, 11, 13),)),
    ("dilated-causal", DilatedCausal, lambda: (floats(2, 16, 20),)),
    ("volumes", volumes, lambda: (floats(1, 4, 6, 9, 8), floats(6, 2, 3, 2, 2), floats(6, 3, 2, 3, 2))),
    ("overlapped-patches", overlapped, lambda: (floats(2, 3, 10, 9),)),
    ("blurred", blurred, lambda: (floats(2, 3, 10, 12),)),
    ("spatial-transformer", SpatialTransformer, lambda: (floats(2, 3, 10, 12),)),
    ("attended-channels", Attended, lambda: (floats(2, 16, 9, 9),)),
    ("normed-weights", normed_weights, lambda: (floats(2, 6, 12), floats(8, 6, 3), floats(8, 1, 1))),
    ("alibi-cached", AlibiCached, lambda: (floats(2, 1, 64), longs(1))),
    ("bucketed-positions", Bucketed, lambda: (floats(2, 4, 9, 8), floats(2, 4, 12, 8), floats(2, 4, 12, 8))),
    ("sink-window", SinkWindow, lambda: (floats(2, 4, 12, 8),) * 3),
    ("latent-attention", LatentAttention, lambda: (floats(2, 7, 64),)),
    ("axial-rotation", Axial, lambda: (floats(1, 2, 3, 5, 16),)),
    ("linear-attention", LinearAttention, lambda: (floats(2, 3, 10, 8),) * 3),
    ("learned-queries", Perceived, lambda: (floats(2, 9, 24), floats(2, 9, 20), bools(2, 9))),
    ("paged-attention", paged, lambda: (floats(2, 4, 8), floats(10, 4, 2, 4, 8), longs(2, 3), longs(2))),
    ("peephole-lstm", PeepholeLstm, lambda: (floats(3, 4, 8),)),
    ("scan", Scanned, lambda: (floats(2, 5), floats(6, 2, 5), floats(5, 5))),
    ("map", Mapped, lambda: (floats(4, 3, 5), floats(3, 5))),
    ("selective-scan", SelectiveScan, lambda: (floats(2, 6, 16),)),
    ("long-convolution", long_convolution, lambda: (floats(2, 4, 20), floats(4, 20), floats(4))),
    ("decayed-keys", decayed, lambda: (floats(2, 5, 8), floats(2, 5, 8), floats(2, 5, 8), floats(8))),
    ("capacity-experts", Capacity, lambda: (floats(10, 16),)),
    ("dense-experts", DenseExperts, lambda: (floats(10, 16),)),
    ("focal-loss", focal, lambda: (floats(6, 5), floats(6, 5))),
    ("dice-loss", dice, lambda: (floats(2, 4, 6, 5), longs(2, 6, 5))),
    ("contrastive-loss", contrastive, lambda: (floats(6, 8), floats(6, 8), floats())),
    ("margin-losses", margins, lambda: (floats(4, 8), floats(4, 8), floats(4, 8), floats(4, 6), longs(4), floats(4))),
    ("distillation-loss", distilled, lambda: (floats(6, 9), floats(6, 9), longs(6), floats(9))),
    ("mixture-density", mixture_density, lambda: (floats(6, 3), floats(6, 3), floats(6, 3), floats(6))),
    ("variational-loss", variational, lambda: (floats(4, 10), floats(4, 10), floats(4, 3), floats(4, 3))),
    ("ppo-loss", ppo, lambda: (floats(12, 5), longs(12), floats(12), floats(12), floats(12), floats(12))),
    ("advantages", advantages, lambda: (floats(6, 3), floats(7, 3), floats(6, 3))),
    ("squashed-normal", squashed, lambda: (floats(6, 4), floats(6, 4), floats(6, 4))),
    ("q-target", q_target, lambda: (floats(8, 4), floats(8, 4), floats(8, 4), floats(8), bools(8), longs(8))),
    ("adamw-step", adamw, lambda: (floats(6, 5), floats(6, 5), floats(6, 5), floats(6, 5), floats())),
    ("adafactor-step", adafactor, lambda: (floats(6, 5), floats(6, 5), floats(6), floats(5))),
    ("orthogonalised-step", orthogonalised, lambda: (floats(6, 5), floats(6, 5))),
    ("batch-norm-training", Normalised, lambda: (floats(3, 6, 12),)),
    ("eight-bit-product", eight_bits, lambda: (floats(20, 32), torch.zeros(16, 32, dtype=torch.int8), floats(16), floats(16))),
    ("four-bit-product", four_bits, lambda: (floats(5, 32), torch.zeros(8, 16, dtype=torch.uint8), floats(8, 2), floats(8, 2))),
    ("fake-quantised", faked, lambda: (floats(5, 16), floats(8, 16), floats(8), torch.zeros(8, dtype=torch.int32))),
    ("float8-product", float8, lambda: (floats(16, 32), floats(32, 16))),
    ("boxes-decoded", boxes_decoded, lambda: (floats(2, 192, 4), floats(3, 2))),
    ("box-overlaps", overlaps, lambda: (floats(7, 4), floats(5, 4))),
    ("detections", detections, lambda: (floats(2, 20, 6), floats(2, 20, 4))),
    ("roi-align", aligned, lambda: (floats(2, 4, 16, 16), floats(5, 5))),
    ("preprocessed-image", preprocessed, lambda: (torch.zeros(1, 30, 40, 3, dtype=torch.uint8),)),
    ("mel-spectrogram", spectrogram, lambda: (floats(2, 320), floats(64), floats(20, 33))),
    ("cepstrum", cepstrum, lambda: (floats(2, 20, 9),)),
    ("nucleus-filter", nucleus, lambda: (floats(2, 30), longs(2, 6), floats())),
    ("beam-step", beams, lambda: (floats(2, 3), floats(2, 3, 15), bools(2, 3))),
    ("graph-convolution", GraphConvolution, lambda: (floats(7, 8), longs(2, 15))),
    ("graph-attention", GraphAttention, lambda: (floats(7, 8), longs(15), longs(15))),
    ("aggregated-groups", aggregated, lambda: (floats(12, 4), longs(12))),
    ("neighbours", neighbours, lambda: (floats(2, 9, 3), floats(2, 9, 5))),
    ("interactions", Interactions, lambda: (floats(4, 5), longs(4, 3), longs(4, 2), longs(4, 3))),
    ("binned-features", binned, lambda: (floats(4, 6), floats(7), floats(8, 3))),
    ("rendered-rays", rendered, lambda: (floats(5, 8), floats(5, 8, 3), floats(5, 8))),
    ("frequencies", frequencies, lambda: (floats(5, 7, 3),)),
    ("sinkhorn", sinkhorn, lambda: (floats(2, 6, 5),)),
    ("linear-chain", chain, lambda: (floats(2, 5, 4), floats(4, 4), bools(2, 5))),
    ("codebook", codebook, lambda: (floats(6, 8), floats(10, 8))),
    ("capsules", capsules, lambda: (floats(2, 6, 4, 5),)),
    ("runge-kutta", runge_kutta, lambda: (floats(4, 6), floats(6, 6), floats())),
    ("kalman-step", kalman, lambda: (floats(4, 1), floats(4, 4), floats(4, 4), floats(2, 4), floats(4, 4), floats(2, 2), floats(2, 1))),
    ("gaussian-process", gaussian_process, lambda: (floats(6, 3), floats(6), floats(4, 3))),
    ("sums-of-products", sums, lambda: (floats(3, 4, 5), floats(3, 6, 5), floats(4, 6), floats(3, 3))),
    ("coupling", Coupling, lambda: (floats(5, 8),)),
    ("complex-layer", complex_layer, lambda: (floats(4, 6), floats(4, 6), floats(6, 3), floats(6, 3))),
    ("writes-and-moves", moved, lambda: (floats(5, 5), longs(3), floats(5, 2))),
]


def entries():
    for name, what, operands in MODULES:
        yield Entry(f"module-{name}", "modules", maker(what, operands))


def maker(what, operands):
    return lambda: (what() if isinstance(what, type) else Call(what), operands(), {})
