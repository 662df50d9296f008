"""Code that `torch.export` cannot take as it is, and the same in plain PyTorch.

A decoder in the style of a serving engine: a paged cache that is written in place, custom operators that write their arguments,
an autograd function, control flow on the contents of a tensor. `RULES` says what the custom operators compute.
"""

import torch
import torch.nn.functional as F
from torch import nn

SIZES = {"heads": 4, "groups": 2, "width": 64, "inner": 96, "vocabulary": 100, "layers": 2}
BLOCKS, PER_BLOCK, TOKENS = 8, 4, 3

library = torch.library.Library("hard", "DEF")
library.define("write_cache(Tensor key, Tensor value, Tensor(a!) key_cache, Tensor(b!) value_cache, Tensor slots) -> ()")
library.define("paged_attention(Tensor(a!) out, Tensor query, Tensor key_cache, Tensor value_cache, Tensor tables, Tensor lengths, float scale, int groups) -> ()")
library.define("silu_and_mul(Tensor(a!) out, Tensor x) -> ()")


def write_cache(key, value, key_cache, value_cache, slots):
    key_cache.view(-1, *key_cache.shape[2:])[slots] = key
    value_cache.view(-1, *value_cache.shape[2:])[slots] = value


def paged_attention(out, query, key_cache, value_cache, tables, lengths, scale, groups):
    for i in range(query.shape[0]):
        length = int(lengths[i])
        key, value = (cache[tables[i]].flatten(0, 1)[:length] for cache in (key_cache, value_cache))
        key, value = (x.repeat_interleave(query.shape[1] // groups, 1) for x in (key, value))
        scores = torch.einsum("hd,khd->hk", query[i], key) * scale
        out[i] = torch.einsum("hk,khd->hd", scores.softmax(-1), value)


def silu_and_mul(out, x):
    gate, up = x.chunk(2, -1)
    out.copy_(F.silu(gate) * up)


for kernel in (write_cache, paged_attention, silu_and_mul):
    library.impl(kernel.__name__, kernel, "CPU")
    library.impl(kernel.__name__, lambda *arguments: None, "Meta")

RULES = """
/// The first half of the features is the gate.
op hard.silu_and_mul(out, x) =
    mul(silu(slice(x; dim=-1, start=0, end=h)), slice(x; dim=-1, start=h, end=2 * h))
    let h = dim(x, -1) / 2

/// Writes keys and values of new tokens into their slots of the paged caches.
op hard.write_cache(key, value, key_cache, value_cache, slots) =
    { reshape(index_put(reshape(key_cache; shape=flat), key, [slots]; dims=[0]); shape=shape(key_cache)),
      reshape(index_put(reshape(value_cache; shape=flat), value, [slots]; dims=[0]); shape=shape(value_cache)) }
    let flat = [dim(key_cache, 0) * dim(key_cache, 1), dim(key_cache, 2), dim(key_cache, 3)]

test hard.write_cache {
    key: f32[2, 3, 5], value: f32[2, 3, 5], key_cache: f32[4, 2, 3, 5], value_cache: f32[4, 2, 3, 5], slots: i64[2]
}

/// Attention of one new token of each sequence over the pages of its cache.
op hard.paged_attention(out, query, key_cache, value_cache, tables, lengths; scale, groups) =
    reshape(
        sdpa(unsqueeze(query; dim=2),
            repeat_heads(permute(reshape(index(key_cache, [tables]; dims=[0]); shape=pages); dims=[0, 2, 1, 3]); times=t),
            repeat_heads(permute(reshape(index(value_cache, [tables]; dims=[0]); shape=pages); dims=[0, 2, 1, 3]); times=t),
            unsqueeze(unsqueeze(lt(arange(; start=0, end=n, dtype=i64), unsqueeze(lengths; dim=1)); dim=1); dim=1);
            scale=scale);
        shape=shape(query))
    let n = dim(tables, 1) * dim(key_cache, 1),
        t = dim(query, 1) / groups,
        pages = [dim(tables, 0), n, groups, dim(key_cache, 3)]

test hard.paged_attention {
    out: f32[3, 4, 5], query: f32[3, 4, 5], key_cache: f32[6, 3, 2, 5], value_cache: f32[6, 3, 2, 5],
    tables: i64[3, 2], lengths: i64[3], scale=0.5, groups=2
}
"""


class Norm(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x, weight, eps):
        ctx.save_for_backward(x, weight)
        return x * torch.rsqrt(x.pow(2).mean(-1, keepdim=True) + eps) * weight


class Layer(nn.Module):
    """Merged weights, custom operators, in-place addition."""

    def __init__(self, heads, groups, width, inner, **rest):
        super().__init__()
        self.heads, self.groups, self.size = heads, groups, width // heads
        self.first, self.second = nn.Parameter(torch.rand(width)), nn.Parameter(torch.rand(width))
        self.qkv = nn.Linear(width, (heads + 2 * groups) * self.size, bias=False)
        self.out = nn.Linear(width, width, bias=False)
        self.up = nn.Linear(width, 2 * inner, bias=False)
        self.down = nn.Linear(inner, width, bias=False)

    def forward(self, x, batch, key_cache, value_cache):
        h, g, d = self.heads, self.groups, self.size
        query, key, value = self.qkv(Norm.apply(x, self.first, 1e-6)).split([h * d, g * d, g * d], -1)
        torch.ops.hard.write_cache(key.view(-1, g, d), value.view(-1, g, d), key_cache, value_cache, batch["slots"])
        mixed = torch.empty_like(query).view(-1, h, d)
        torch.ops.hard.paged_attention(mixed, query.view(-1, h, d), key_cache, value_cache, batch["tables"], batch["lengths"], d**-0.5, g)
        x = x + self.out(mixed.view(x.shape))
        both = self.up(Norm.apply(x, self.second, 1e-6))
        activated = torch.empty(both.shape[0], both.shape[1] // 2)
        torch.ops.hard.silu_and_mul(activated, both)
        return x.add_(self.down(activated))


class PlainLayer(Layer):
    """The same in operators of PyTorch, without writing anything but the caches."""

    def forward(self, x, batch, key_cache, value_cache):
        h, g, d = self.heads, self.groups, self.size
        query, key, value = self.qkv(norm(x, self.first)).split([h * d, g * d, g * d], -1)
        keys = written(key_cache, key.view(-1, g, d), batch)
        values = written(value_cache, value.view(-1, g, d), batch)
        there = torch.arange(batch["tables"].shape[1] * PER_BLOCK) < batch["lengths"][:, None]
        pages = [self.pages(cache, batch) for cache in (keys, values)]
        mixed = F.scaled_dot_product_attention(query.view(-1, h, 1, d), *pages, attn_mask=there[:, None, None])
        x = x + self.out(mixed.reshape(x.shape))
        gate, up = self.up(norm(x, self.second)).chunk(2, -1)
        return x + self.down(F.silu(gate) * up)

    def pages(self, cache, batch):
        pages = cache[batch["tables"]].flatten(1, 2).transpose(1, 2)
        return pages.repeat_interleave(self.heads // self.groups, 1)


class SeparateLayer(PlainLayer):
    """The plain layer as model libraries write it: one matrix for each projection, taken from the merged ones of a `Layer`."""

    def __init__(self, heads, groups, width, inner, merged, **rest):
        super().__init__(heads, groups, width, inner)
        self.first, self.second, self.out, self.down = merged.first, merged.second, merged.out, merged.down
        kv = groups * self.size
        for name, part in zip(("q", "k", "v"), merged.qkv.weight.detach().split([width, kv, kv])):
            self.add_module(name, linear(part))
        for name, part in zip(("gate", "lift"), merged.up.weight.detach().chunk(2)):
            self.add_module(name, linear(part))
        del self.qkv, self.up

    def qkv(self, x):
        return torch.cat([self.q(x), self.k(x), self.v(x)], -1)

    def up(self, x):
        return torch.cat([self.gate(x), self.lift(x)], -1)


def linear(weight):
    layer = nn.Linear(*weight.shape[::-1], bias=False)
    layer.weight = nn.Parameter(weight.clone())
    return layer


def norm(x, weight):
    return x * torch.rsqrt(x.pow(2).mean(-1, keepdim=True) + 1e-6) * weight


def written(cache, new, batch):
    flat = cache.view(-1, *cache.shape[2:])
    flat[batch["slots"]] = new
    return cache


class Model(nn.Module):
    def __init__(self, layer=Layer, peek=False, **sizes):
        super().__init__()
        sizes = {**SIZES, **sizes}
        self.embedding = nn.Embedding(sizes["vocabulary"], sizes["width"])
        self.layers = nn.ModuleList(layer(**sizes) for _ in range(sizes["layers"]))
        self.head = nn.Linear(sizes["width"], sizes["vocabulary"], bias=False)
        self.peek = peek

    def forward(self, ids, batch, caches):
        x = self.embedding(ids)
        for layer, cache in zip(self.layers, caches):
            x = layer(x, batch, *cache)
        if self.peek and float(batch["lengths"].float().mean()) > 4:
            x = x * 0.5
        return self.head(x)


def inputs():
    """Arguments of a model: three sequences that get a token each."""
    batch = {
        "slots": torch.tensor([5, 17, 29]),
        "tables": torch.tensor([[0, 1], [3, 4], [6, 7]]),
        "lengths": torch.tensor([6, 6, 6]),
    }
    shape = (BLOCKS, PER_BLOCK, SIZES["groups"], SIZES["width"] // SIZES["heads"])
    caches = [(torch.randn(shape), torch.randn(shape)) for _ in range(SIZES["layers"])]
    return torch.randint(0, SIZES["vocabulary"], (TOKENS,)), batch, caches
