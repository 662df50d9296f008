"""Products of matrices, linear layers and attention."""

import torch
from torch.nn import functional as F

from .case import case, grid

# Equation, shapes.
EINSUMS = [
    ("bhqd,bhkd->bhqk", (2, 4, 8, 16), (2, 4, 9, 16)), ("bij,bjk->bik", (2, 3, 4), (2, 4, 5)), ("ij,jk->ik", (3, 4), (4, 5)), ("bi,oi->bo", (3, 4), (5, 4)),
    ("bsi,oi->bso", (2, 3, 4), (5, 4)), ("i,j->ij", (3,), (4,)), ("bnhd,bmhd->bhnm", (2, 5, 3, 4), (2, 6, 3, 4)), ("bhnm,bmhd->bnhd", (2, 3, 5, 6), (2, 6, 3, 4)),
    ("bqc,bchw->bqhw", (2, 5, 4), (2, 4, 3, 6)), ("bhwc,hkc->bhwk", (2, 3, 4, 5), (3, 6, 5)), ("bhwc,wkc->bhwk", (2, 3, 4, 5), (4, 6, 5)), ("ii->i", (4, 4), None),
    ("ij->ji", (3, 4), None), ("bij->b", (2, 3, 4), None), ("bi,bi->b", (3, 4), (3, 4)), ("bld,hd->blh", (2, 3, 4), (5, 4)), ("nctw,cd->ndtw", (2, 4, 3, 5), (4, 6)),
    ("ijk,ilm->jklm", (2, 3, 4), (2, 5, 6)), ("bcd,bed->bce", (1, 3, 4), (1, 5, 4)), ("...ij,...jk->...ik", (2, 1, 3, 4), (2, 1, 4, 5)),
]
MATMULS = [
    ("f32[4]", "f32[4]"), ("f32[3, 4]", "f32[4]"), ("f32[4]", "f32[4, 5]"), ("f32[3, 4]", "f32[4, 5]"), ("f32[2, 3, 4]", "f32[4, 5]"), ("f32[2, 3, 4]", "f32[4]"),
    ("f32[2, 3, 4]", "f32[2, 4, 5]"), ("f32[2, 3, 4]", "f32[1, 4, 5]"), ("f32[2, 6, 3, 4]", "f32[2, 6, 4, 5]"), ("f32[2, 6, 3, 4]", "f32[6, 4, 5]"),
    ("f32[2, 6, 3, 4]", "f32[2, 1, 4, 5]"), ("f32[3, 4]", "f32[2, 4, 5]"), ("bf16[2, 6, 3, 4]", "bf16[4, 5]"), ("bf16[1, 6, 3, 4]", "bf16[1, 6, 4, 5]"),
    ("f32[2, 1, 6, 3, 4]", "f32[2, 5, 6, 4, 5]"), ("f32[4]", "f32[2, 4, 5]"), ("f32[1, 1, 4]", "f32[4, 5]"),
]
LINEARS = [
    ("f32[3, 4]", "f32[5, 4]"), ("f32[4]", "f32[5, 4]"), ("f32[2, 3, 4]", "f32[5, 4]"), ("bf16[2, 3, 6, 4]", "bf16[5, 4]"), ("f32[1, 3, 4]", "f32[1, 4]"),
    ("f32[1, 1, 4]", "f32[5, 4]"),
]


def cases():
    for equation, x, y in EINSUMS:
        operands = [f"f32[{', '.join(map(str, shape))}]" for shape in (x, y) if shape]
        name = equation.replace(",", "_").replace("->", "_to_").replace("...", "_")
        yield case("products", "einsum", lambda *t, e=equation: torch.einsum(e, *t), *operands, attributes=name)
    yield from grid("products", "matmul", torch.matmul, *MATMULS)
    yield from grid("products", "linear", F.linear, *LINEARS)
    yield from grid("products", "linear", F.linear, *((x, w, f"{w[:w.index('[')]}[{w[w.index('[') + 1:].split(',')[0]}]") for x, w in LINEARS), attributes="bias")
    yield from grid("products", "addmm", torch.addmm, ("f32[5]", "f32[3, 4]", "f32[4, 5]"), ("f32[3, 5]", "f32[3, 4]", "f32[4, 5]"))
    yield from grid("products", "addmm", lambda b, x, y: torch.addmm(b, x, y, beta=0.5, alpha=2), ("f32[5]", "f32[3, 4]", "f32[4, 5]"), attributes="factors")
    yield from grid("products", "baddbmm", torch.baddbmm, ("f32[2, 3, 5]", "f32[2, 3, 4]", "f32[2, 4, 5]"), ("f32[1, 3, 5]", "f32[2, 3, 4]", "f32[2, 4, 5]"))
    yield from grid("products", "baddbmm", lambda b, x, y: torch.baddbmm(b, x, y, beta=0, alpha=0.25), ("f32[2, 3, 5]", "f32[2, 3, 4]", "f32[2, 4, 5]"), attributes="no_beta")
    yield from grid("products", "addbmm", torch.addbmm, ("f32[3, 5]", "f32[2, 3, 4]", "f32[2, 4, 5]"))
    yield from grid("products", "addmv", torch.addmv, ("f32[3]", "f32[3, 4]", "f32[4]"))
    yield from grid("products", "addr", torch.addr, ("f32[3, 4]", "f32[3]", "f32[4]"))
    yield from grid("products", "mv", torch.mv, ("f32[3, 4]", "f32[4]"))
    yield from grid("products", "dot", torch.dot, ("f32[4]", "f32[4]"))
    yield from grid("products", "outer", torch.outer, ("f32[3]", "f32[4]"))
    yield from grid("products", "inner", torch.inner, ("f32[3, 4]", "f32[5, 4]"), ("f32[2, 3, 4]", "f32[4]"))
    yield from grid("products", "kron", torch.kron, ("f32[2, 3]", "f32[4, 5]"))
    yield from grid("products", "tensordot", lambda x, y: torch.tensordot(x, y, dims=([1, 2], [0, 1])), ("f32[2, 3, 4]", "f32[3, 4, 5]"))
    yield from grid("products", "tensordot", lambda x, y: torch.tensordot(x, y, dims=1), ("f32[2, 3, 4]", "f32[4, 5]"), attributes="1")
    yield from grid("products", "chain_matmul", lambda x, y, z: torch.linalg.multi_dot([x, y, z]), ("f32[2, 3]", "f32[3, 4]", "f32[4, 5]"))
    yield from grid("products", "vecdot", torch.linalg.vecdot, ("f32[3, 4]", "f32[3, 4]"))
    yield from grid("products", "matrix_power", lambda x: torch.linalg.matrix_power(x, 3), "f32[4, 4]", "f32[2, 4, 4]")
    yield from grid("products", "bilinear", F.bilinear, ("f32[4, 8]", "f32[4, 6]", "f32[5, 8, 6]"), ("f32[2, 4, 8]", "f32[2, 4, 6]", "f32[5, 8, 6]"))
    yield from grid("products", "bilinear", F.bilinear, ("f32[4, 8]", "f32[4, 6]", "f32[5, 8, 6]", "f32[5]"), attributes="bias")
    yield from grid("products", "cdist", torch.cdist, ("f32[2, 8, 16]", "f32[2, 9, 16]"), ("f32[8, 16]", "f32[9, 16]"))
    yield from attention()


def attention():
    sdpa = F.scaled_dot_product_attention
    heads = [("f32[2, 4, 8, 16]",) * 3, ("bf16[1, 4, 8, 16]",) * 3, ("f32[3, 8, 16]",) * 3, ("f32[2, 4, 8, 16]", "f32[2, 4, 6, 16]", "f32[2, 4, 6, 16]"), ("f32[8, 16]",) * 3]
    yield from grid("products", "attention", sdpa, *heads)
    yield from grid("products", "attention", lambda q, k, v: sdpa(q, k, v, is_causal=True), *heads, attributes="causal")
    yield from grid("products", "attention", lambda q, k, v: sdpa(q, k, v, scale=0.5), *heads, attributes="scale")
    masks = [("f32[2, 4, 8, 16]",) * 3 + ("f32[2, 1, 8, 8]",), ("f32[2, 4, 8, 16]",) * 3 + ("bool[2, 1, 8, 8]",), ("bf16[2, 4, 8, 16]",) * 3 + ("bf16[8, 8]",),
             ("bf16[1, 4, 8, 16]",) * 3 + ("bool[1, 1, 1, 8]",), ("f32[2, 4, 1, 16]", "f32[2, 4, 8, 16]", "f32[2, 4, 8, 16]", "bool[2, 1, 1, 8]")]
    yield from grid("products", "attention", sdpa, *masks, attributes="mask")
    grouped = [("f32[2, 8, 8, 16]", "f32[2, 2, 8, 16]", "f32[2, 2, 8, 16]"), ("bf16[1, 4, 8, 16]", "bf16[1, 1, 8, 16]", "bf16[1, 1, 8, 16]")]
    yield from grid("products", "attention", lambda q, k, v: sdpa(q, k, v, enable_gqa=True), *grouped, attributes="grouped")
    yield from grid("products", "attention", lambda q, k, v: sdpa(q, k, v, enable_gqa=True, is_causal=True), *grouped, attributes="grouped_causal")
