"""The operators that random programs are made of. Each entry chooses operands and literals; PyTorch says whether they fit."""

import math

import torch

from program import FLOAT8, FLOATS, INTS

CATALOGUE = []


class Skip(Exception):
    """The entry finds no operands in this program."""


def entry(weight=1):
    def add(make):
        CATALOGUE.append((weight, make))
        return make

    return add


def is_float(m):
    return m.dtype in FLOATS


def is_int(m):
    return m.dtype in INTS


def is_number(m):
    return m.dtype in FLOATS or m.dtype in INTS


def any_type(m):
    return m.dtype not in FLOAT8


def has_dims(m):
    return any_type(m) and len(m.shape) > 0


FLOAT_UNARY = "neg abs exp expm1 log log1p sqrt rsqrt reciprocal sin cos tanh erf sigmoid relu floor round trunc ceil square sign sin positive".split()
FLOAT_FUNCTIONAL = "silu gelu relu6 softplus elu leaky_relu hardtanh mish hardswish logsigmoid".split()
INT_UNARY = "neg abs square relu sign bitwise_not positive".split()
BINARY = "add sub mul maximum minimum".split()
COMPARE = "eq ne lt le gt ge".split()
LOGICAL = "logical_and logical_or logical_xor".split()


@entry(6)
def float_unary(g):
    return g.make("torch.{fn}({{0}})", g.pick(is_float), op=g.rng.choice(FLOAT_UNARY))


@entry(2)
def float_functional(g):
    return g.make("F.{fn}({{0}})", g.pick(is_float), op=g.rng.choice(FLOAT_FUNCTIONAL))


@entry(1)
def gelu(g):
    return g.make("F.gelu({0}, approximate={approximate})", g.pick(is_float), op="gelu", approximate=g.rng.choice(("none", "tanh")))


@entry(4)
def int_unary(g):
    return g.make("torch.{fn}({{0}})", g.pick(is_int), op=g.rng.choice(INT_UNARY))


@entry(8)
def binary(g):
    x = g.pick(is_number)
    return g.make("torch.{fn}({{0}}, {{1}})", x, g.partner(x), op=g.rng.choice(BINARY))


@entry(3)
def alpha(g):
    x = g.pick(is_number)
    return g.make("torch.{fn}({{0}}, {{1}}, alpha={{alpha}})", x, g.partner(x), op=g.rng.choice(("add", "sub")), alpha=g.scalar(x))


@entry(8)
def binary_scalar(g):
    x = g.pick(is_number)
    op = g.rng.choice("add sub mul rsub".split())
    return g.make("torch.{fn}({{0}}, {{c}})", x, op=op, c=g.scalar(x))


@entry(3)
def divide(g):
    x = g.pick(is_float)
    return g.make("torch.div({0}, {1})", x, g.partner(x), op="div")


@entry(3)
def divide_scalar(g):
    x = g.pick(is_number)
    if g.rng.random() < 0.5:
        return g.make("torch.div({0}, {c})", x, op="div", c=g.scalar(x))
    mode = g.rng.choice(("floor", "trunc"))
    return g.make("torch.div({0}, {c}, rounding_mode={mode})", x, op="div_mode", c=g.divisor(x), mode=mode)


@entry(2)
def divide_whole(g):
    x = g.pick(is_number)
    y = g.partner(x)
    op = g.rng.choice(("floor_divide", "remainder", "fmod"))
    if is_int(g.meta(x)):
        return g.make("torch.{fn}({{0}}, {{1}}.abs() + 1)", x, y, op=op)
    return g.make("torch.{fn}({{0}}, {{1}})", x, y, op=op)


@entry(2)
def remainder_scalar(g):
    x = g.pick(is_number)
    return g.make("torch.{fn}({{0}}, {{c}})", x, op=g.rng.choice(("remainder", "fmod", "floor_divide")), c=g.divisor(x))


@entry(2)
def mixed_binary(g):
    """Operands of different types, which PyTorch promotes."""
    x, y = g.pick(any_type), g.pick(any_type)
    return g.make("torch.{fn}({{0}}, {{1}})", x, y, op=g.rng.choice(("add", "mul", "eq", "lt", "maximum")))


@entry(4)
def compare(g):
    x = g.pick(is_number)
    return g.make("torch.{fn}({{0}}, {{1}})", x, g.partner(x), op=g.rng.choice(COMPARE))


@entry(3)
def compare_scalar(g):
    x = g.pick(is_number)
    return g.make("torch.{fn}({{0}}, {{c}})", x, op=g.rng.choice(COMPARE), c=g.scalar(x))


@entry(3)
def logical(g):
    x = g.pick(any_type)
    return g.make("torch.{fn}({{0}}, {{1}})", x, g.partner(x), op=g.rng.choice(LOGICAL))


@entry(2)
def logical_not(g):
    return g.make("torch.logical_not({0})", g.pick(any_type), op="logical_not")


@entry(3)
def bitwise(g):
    x = g.pick(lambda m: is_int(m) or m.dtype == torch.bool)
    return g.make("torch.{fn}({{0}}, {{1}})", x, g.partner(x), op=g.rng.choice(("bitwise_and", "bitwise_or", "bitwise_xor")))


@entry(2)
def shift(g):
    x = g.pick(is_int)
    bits = torch.iinfo(g.meta(x).dtype).bits
    return g.make("({{0}} {fn} {{c}})", x, op=g.rng.choice(("<<", ">>")), c=g.rng.choice((0, 1, 2, bits // 2, bits - 1)))


@entry(3)
def power(g):
    x = g.pick(is_float)
    return g.make("torch.pow({0}, {c})", x, op="pow", c=g.rng.choice((2, 2.0, 3.0, 3, 0.5, -1.0, -2, 1.0, 0.0, 1, 0, -0.5, 1.5, 4)))


@entry(1)
def power_int(g):
    return g.make("torch.pow({0}, {c})", g.pick(is_int), op="pow", c=g.rng.choice((0, 1, 2, 3, 5, 64)))


@entry(4)
def clamp(g):
    x = g.pick(is_number)
    low, high = sorted((g.finite(x), g.finite(x)))
    low, high = g.rng.choice(((low, high), (low, None), (None, high)))
    return g.make("torch.clamp({0}, min={low}, max={high})", x, op="clamp", low=low, high=high)


@entry(8)
def cast(g):
    x = g.pick(lambda m: True)
    m = g.meta(x)
    target = g.rng.choice([d for d in (*FLOATS, *FLOATS, *INTS, torch.bool, *FLOAT8) if d != m.dtype])
    return g.make("{0}.to({dtype})", x, op="cast", dtype=target)


@entry(4)
def where(g):
    c = g.pick(lambda m: m.dtype == torch.bool)
    x = g.like(g.number_type(), g.meta(c).shape)
    return g.make("torch.where({0}, {1}, {2})", c, x, g.partner(x), op="where")


@entry(2)
def where_scalar(g):
    c = g.pick(lambda m: m.dtype == torch.bool)
    x = g.like(g.number_type(), g.meta(c).shape)
    return g.make("torch.where({0}, {1}, {c})", c, x, op="where", c=g.scalar(x))


@entry(3)
def masked_fill(g):
    x = g.pick(any_type)
    mask = g.like(torch.bool, g.shorter(g.meta(x).shape))
    c = g.rng.random() < 0.5 if g.meta(x).dtype == torch.bool else g.scalar(x)
    return g.make("{0}.masked_fill({1}, {c})", x, mask, op="masked_fill", c=c)


# Views.


@entry(3)
def reshape(g):
    x = g.pick(any_type)
    shape = g.other_shape(g.meta(x).shape)
    return g.make("{0}." + g.rng.choice(("reshape", "reshape", "view")) + "({shape})", x, op="reshape", shape=shape)


@entry(3)
def permute(g):
    x = g.pick(has_dims)
    dims = list(range(len(g.meta(x).shape)))
    g.rng.shuffle(dims)
    return g.make("{0}.permute({dims})", x, op="permute", dims=tuple(dims))


@entry(2)
def transpose(g):
    x = g.pick(has_dims)
    return g.make("{0}.transpose({a}, {b})", x, op="transpose", a=g.dim(x), b=g.dim(x))


@entry(2)
def expand(g):
    x = g.pick(any_type)
    shape = [g.size() if d == 1 else d for d in g.meta(x).shape]
    shape = [g.size() for _ in range(g.rng.choice((0, 0, 1)))] + shape
    return g.make("{0}." + g.rng.choice(("expand", "broadcast_to")) + "({shape})", x, op="expand", shape=tuple(shape))


@entry(4)
def slice_(g):
    x = g.pick(has_dims)
    d = g.dim(x)
    n = g.meta(x).shape[d]
    start, end = sorted((g.rng.randint(0, n), g.rng.randint(0, n)))
    if g.rng.random() < 0.3:
        start -= n
        end = 2**63 - 1
    before = ":, " * d
    return g.make("{0}[" + before + "{start}:{end}:{step}]", x, op="slice", start=start, end=end, step=g.rng.choice((1, 1, 1, 2, 3)))


@entry(3)
def select(g):
    x = g.pick(has_dims)
    d = g.dim(x)
    n = g.meta(x).shape[d]
    if not n:
        raise Skip
    return g.make("torch.select({0}, {dim}, {i})", x, op="select", dim=d, i=g.rng.randint(-n, n - 1))


@entry(2)
def split(g):
    x = g.pick(has_dims)
    d = g.dim(x)
    op = g.rng.choice(("split", "chunk", "unbind", "sizes"))
    n = g.meta(x).shape[d]
    if op == "unbind":
        return g.make("torch.unbind({0}, {dim})", x, op="unbind", dim=d)
    if op == "sizes":
        k = g.rng.randint(0, n)
        return g.make("torch.split({0}, {sizes}, {dim})", x, op="split", sizes=[k, n - k], dim=d)
    return g.make("torch." + op + "({0}, {n}, {dim})", x, op=op, n=g.rng.randint(1, 3), dim=d)


@entry(2)
def unsqueeze(g):
    x = g.pick(any_type)
    rank = len(g.meta(x).shape)
    return g.make("{0}.unsqueeze({dim})", x, op="unsqueeze", dim=g.rng.randint(-rank - 1, rank))


@entry(2)
def squeeze(g):
    x = g.pick(lambda m: any_type(m) and 1 in m.shape)
    if g.rng.random() < 0.3:
        return g.make("{0}.squeeze()", x, op="squeeze_all")
    return g.make("{0}.squeeze({dim})", x, op="squeeze", dim=g.meta(x).shape.index(1))


@entry(3)
def concat(g):
    x = g.pick(has_dims)
    y = g.like(g.meta(x).dtype, g.meta(x).shape)
    if g.rng.random() < 0.3:
        return g.make("torch.stack([{0}, {1}], {dim})", x, y, op="stack", dim=g.dim(x))
    return g.make("torch.cat([{0}, {1}], {dim})", x, y, op="cat", dim=g.dim(x))


@entry(1)
def copies(g):
    return g.make("{{0}}.{fn}()", g.pick(any_type), op=g.rng.choice(("clone", "contiguous", "detach", "flatten")))


@entry(1)
def diagonal(g):
    x = g.pick(lambda m: any_type(m) and len(m.shape) >= 2)
    return g.make("torch.diagonal({0}, {offset})", x, op="diagonal", offset=g.rng.choice((0, 1, -1)))


# Reductions.


@entry(6)
def reduce(g):
    x = g.pick(is_number)
    op = g.rng.choice("sum sum mean amax amin prod any all logsumexp std var".split())
    if op in ("mean", "logsumexp", "std", "var") and not is_float(g.meta(x)):
        op = "sum"
    if g.rng.random() < 0.2 and op not in ("logsumexp",):
        return g.make("torch.{fn}({{0}})", x, op=op)
    dims = g.dims(x)
    if op in ("prod",):
        dims = dims[0]
    return g.make("torch.{fn}({{0}}, dim={{dim}}, keepdim={{keepdim}})", x, op=op, dim=dims, keepdim=g.rng.random() < 0.4)


@entry(1)
def reduce_bool(g):
    x = g.pick(lambda m: m.dtype == torch.bool)
    op = g.rng.choice(("any", "all", "sum"))
    return g.make("torch.{fn}({{0}}, dim={{dim}}, keepdim={{keepdim}})", x, op=op, dim=g.dim(x), keepdim=g.rng.random() < 0.4)


@entry(1)
def sum_as(g):
    x = g.pick(is_number)
    return g.make("torch.{fn}({{0}}, dim={{dim}}, dtype={{dtype}})", x, op=g.rng.choice(("sum", "cumsum")), dim=g.dim(x), dtype=g.rng.choice((torch.float32, torch.int64, torch.int32, torch.float64)))


@entry(1)
def variance(g):
    x = g.pick(is_float)
    return g.make("torch.var({0}, dim={dim}, correction={n})", x, op="var", dim=g.dims(x), n=g.rng.choice((0, 1, 2)))


@entry(3)
def arg(g):
    x = g.pick(is_number)
    return g.make("torch.{fn}({{0}}, dim={{dim}}, keepdim={{keepdim}})", x, op=g.rng.choice(("argmax", "argmin")), dim=g.dim(x), keepdim=g.rng.random() < 0.4)


@entry(2)
def max_dim(g):
    x = g.pick(lambda m: is_number(m) and m.shape)
    return g.make("torch.{fn}({{0}}, dim={{dim}})", x, op=g.rng.choice(("max", "min")), dim=g.dim(x))


@entry(3)
def running(g):
    x = g.pick(is_number)
    return g.make("torch.{fn}({{0}}, dim={{dim}})", x, op=g.rng.choice(("cumsum", "cumprod")), dim=g.dim(x))


@entry(2)
def softmax(g):
    x = g.pick(lambda m: is_float(m) and m.shape)
    return g.make("torch.{fn}({{0}}, dim={{dim}})", x, op=g.rng.choice(("softmax", "log_softmax")), dim=g.dim(x))


# Ordering.


@entry(2)
def sort(g):
    x = g.pick(is_number)
    return g.make("torch.sort({0}, dim={dim}, descending={descending}, stable={stable})", x, op="sort", dim=g.dim(x), descending=g.flip(), stable=g.flip())


@entry(1)
def argsort(g):
    x = g.pick(is_number)
    return g.make("torch.argsort({0}, dim={dim}, descending={descending}, stable={stable})", x, op="argsort", dim=g.dim(x), descending=g.flip(), stable=g.flip())


@entry(2)
def topk(g):
    x = g.pick(lambda m: is_number(m) and m.shape)
    d = g.dim(x)
    k = g.rng.randint(0, g.meta(x).shape[d])
    return g.make("torch.topk({0}, {k}, dim={dim}, largest={largest})", x, op="topk", k=k, dim=d, largest=g.flip())


# Indexing.


@entry(2)
def gather(g):
    x = g.pick(has_dims)
    d = g.dim(x)
    shape = g.meta(x).shape
    index = g.index(shape[d], tuple(g.rng.randint(0, n) if i != d else g.size() for i, n in enumerate(shape)))
    return g.make("torch.gather({0}, {dim}, {1})", x, index, op="gather", dim=d)


@entry(2)
def index_select(g):
    x = g.pick(has_dims)
    d = g.dim(x)
    return g.make("torch.index_select({0}, {dim}, {1})", x, g.index(g.meta(x).shape[d], (g.size(),)), op="index_select", dim=d)


@entry(2)
def index(g):
    x = g.pick(has_dims)
    d = g.dim(x)
    at = g.index(g.meta(x).shape[d], tuple(g.size() for _ in range(g.rng.choice((1, 1, 2)))), negative=True)
    return g.make("{0}[" + ":, " * d + "{1}]", x, at, op="index")


@entry(1)
def embedding(g):
    x = g.pick(lambda m: is_float(m) and len(m.shape) == 2)
    return g.make("F.embedding({1}, {0})", x, g.index(g.meta(x).shape[0], (g.size(),)), op="embedding")


@entry(3)
def scatter(g):
    x = g.pick(lambda m: is_number(m) and m.shape)
    d = g.dim(x)
    shape = g.meta(x).shape
    at = tuple(g.rng.randint(0, n) if i != d else g.size() for i, n in enumerate(shape))
    op = g.rng.choice(("scatter", "scatter", "scatter_add"))
    if op == "scatter" and g.rng.random() < 0.3:
        return g.make("torch.scatter({0}, {dim}, {1}, {c})", x, g.index(shape[d], at), op="scatter_value", dim=d, c=g.scalar(x))
    return g.make("torch.{fn}({{0}}, {{dim}}, {{1}}, {{2}})", x, g.index(shape[d], at), g.like(g.meta(x).dtype, at), op=op, dim=d)


@entry(2)
def index_put(g):
    x = g.pick(lambda m: is_number(m) and m.shape)
    shape = g.meta(x).shape
    n = g.size()
    at = g.index(shape[0], (n,), negative=True)
    return g.make("torch.index_put({0}, ({1},), {2}, accumulate={accumulate})", x, at, g.like(g.meta(x).dtype, (n, *shape[1:])), op="index_put", accumulate=g.flip())


@entry(1)
def index_add(g):
    x = g.pick(lambda m: is_number(m) and m.shape)
    shape = g.meta(x).shape
    n = g.size()
    return g.make("torch.index_add({0}, 0, {1}, {2})", x, g.index(shape[0], (n,)), g.like(g.meta(x).dtype, (n, *shape[1:])), op="index_add")


@entry(2)
def triangle(g):
    x = g.pick(lambda m: any_type(m) and len(m.shape) >= 2)
    return g.make("torch.{fn}({{0}}, {{diagonal}})", x, op=g.rng.choice(("tril", "triu")), diagonal=g.rng.choice((0, 0, 1, -1, 2, -3, 7)))


@entry(2)
def flip(g):
    x = g.pick(has_dims)
    return g.make("torch.flip({0}, {dims})", x, op="flip", dims=g.dims(x))


@entry(2)
def roll(g):
    x = g.pick(has_dims)
    return g.make("torch.roll({0}, {shift}, {dim})", x, op="roll", shift=g.rng.choice((0, 1, -1, 2, 5, -7, 12)), dim=g.dim(x))


@entry(3)
def pad(g):
    x = g.pick(lambda m: is_number(m) and m.shape)
    rank = len(g.meta(x).shape)
    sizes = [g.rng.choice((0, 0, 1, 2, -1)) for _ in range(2 * g.rng.randint(1, min(rank, 2)))]
    return g.make("F.pad({0}, {sizes}, value={c})", x, op="pad", sizes=sizes, c=g.scalar(x))


@entry(1)
def repeat(g):
    x = g.pick(has_dims)
    if g.flip():
        return g.make("torch.repeat_interleave({0}, {n}, dim={dim})", x, op="repeat_interleave", n=g.rng.randint(0, 3), dim=g.dim(x))
    return g.make("{0}.repeat({n})", x, op="repeat", n=tuple(g.rng.randint(1, 2) for _ in g.meta(x).shape))


@entry(1)
def diff(g):
    x = g.pick(lambda m: is_number(m) and m.shape)
    return g.make("torch.diff({0}, n={n}, dim={dim})", x, op="diff", n=g.rng.choice((1, 1, 2)), dim=g.dim(x))


@entry(1)
def one_hot(g):
    n = g.rng.randint(1, 4)
    return g.make("F.one_hot({0}, {n})", g.index(n, (g.size(),)), op="one_hot", n=n)


# Products.


@entry(4)
def matmul(g):
    x = g.pick(lambda m: is_number(m) and m.shape)
    m = g.meta(x)
    k, n = m.shape[-1], g.size()
    batch = m.shape[:-2] if g.flip() else ()
    return g.make("torch.matmul({0}, {1})", x, g.like(m.dtype, (*batch, k, n)), op="matmul")


@entry(3)
def linear(g):
    x = g.pick(lambda m: is_float(m) and m.shape)
    m = g.meta(x)
    n = g.size()
    w = g.like(m.dtype, (n, m.shape[-1]))
    if g.flip():
        return g.make("F.linear({0}, {1})", x, w, op="linear")
    return g.make("F.linear({0}, {1}, {2})", x, w, g.like(m.dtype, (n,)), op="linear")


@entry(2)
def addmm(g):
    x = g.pick(lambda m: is_number(m) and len(m.shape) == 2)
    m = g.meta(x)
    n = g.size()
    b = g.like(m.dtype, g.rng.choice(((n,), (m.shape[0], n), (1, n))))
    w = g.like(m.dtype, (m.shape[1], n))
    if g.flip():
        return g.make("torch.addmm({0}, {1}, {2})", b, x, w, op="addmm")
    return g.make("torch.addmm({0}, {1}, {2}, beta={beta}, alpha={alpha})", b, x, w, op="addmm", beta=g.rng.choice((0, 1, 2, -1)), alpha=g.rng.choice((0, 1, 3, -1)))


@entry(2)
def bmm(g):
    x = g.pick(lambda m: is_number(m) and len(m.shape) == 3)
    m = g.meta(x)
    n = g.size()
    w = g.like(m.dtype, (m.shape[0], m.shape[2], n))
    if g.flip():
        return g.make("torch.bmm({0}, {1})", x, w, op="bmm")
    return g.make("torch.baddbmm({0}, {1}, {2}, beta={beta}, alpha={alpha})", g.like(m.dtype, (m.shape[0], m.shape[1], n)), x, w, op="baddbmm", beta=g.rng.choice((0, 1, 2)), alpha=g.rng.choice((1, 2)))


@entry(1)
def einsum(g):
    x = g.pick(lambda m: is_float(m) and len(m.shape) == 2)
    y = g.like(g.meta(x).dtype, g.meta(x).shape)
    return g.make("torch.einsum({eq}, {0}, {1})", x, y, op="einsum", eq=g.rng.choice(("ij,ij->ij", "ij,ij->i", "ij,kj->ik", "ij,ij->", "ij,ik->jk")))


@entry(1)
def conv1d(g):
    c, o, k = g.size(), g.size(), g.rng.randint(1, 3)
    x = g.like(torch.float32, (g.rng.randint(1, 2), c, g.rng.randint(3, 6)))
    args = (x, g.like(torch.float32, (o, c, k))) + ((g.like(torch.float32, (o,)),) if g.flip() else ())
    slots = ", ".join(f"{{{i}}}" for i in range(len(args)))
    return g.make("F.conv1d(" + slots + ", stride={stride}, padding={padding}, dilation={dilation})", *args, op="conv1d", stride=g.rng.randint(1, 2), padding=g.rng.randint(0, 1), dilation=1)


@entry(1)
def conv2d(g):
    c, o, k = g.rng.randint(1, 2), g.rng.randint(1, 2), g.rng.randint(1, 2)
    x = g.like(torch.float32, (1, c, 4, g.rng.randint(2, 4)))
    return g.make("F.conv2d({0}, {1}, stride={stride}, padding={padding})", x, g.like(torch.float32, (o, c, k, k)), op="conv2d", stride=g.rng.randint(1, 2), padding=g.rng.randint(0, 1))


@entry(1)
def pool(g):
    x = g.like(torch.float32, (1, g.rng.randint(1, 2), 4, g.rng.randint(2, 4)))
    op = g.rng.choice(("max_pool2d", "avg_pool2d"))
    return g.make("F.{fn}({{0}}, {{k}}, stride={{stride}}, padding={{padding}})", x, op=op, k=2, stride=g.rng.randint(1, 2), padding=g.rng.randint(0, 1))


# Norms and attention.


@entry(2)
def layer_norm(g):
    x = g.pick(lambda m: is_float(m) and m.shape)
    m = g.meta(x)
    n = m.shape[-1]
    eps = g.rng.choice((1e-5, 1e-6, 0.1))
    kind = g.rng.choice(("bare", "weight", "both", "rms", "rms_weight"))
    if kind == "bare":
        return g.make("F.layer_norm({0}, {shape}, eps={eps})", x, op="layer_norm", shape=(n,), eps=eps)
    if kind == "rms":
        return g.make("F.rms_norm({0}, {shape}, eps={eps})", x, op="rms_norm", shape=(n,), eps=eps)
    w = g.like(m.dtype, (n,))
    if kind == "rms_weight":
        return g.make("F.rms_norm({0}, {shape}, {1}, {eps})", x, w, op="rms_norm", shape=(n,), eps=eps)
    if kind == "weight":
        return g.make("F.layer_norm({0}, {shape}, {1}, None, {eps})", x, w, op="layer_norm", shape=(n,), eps=eps)
    return g.make("F.layer_norm({0}, {shape}, {1}, {2}, {eps})", x, w, g.like(m.dtype, (n,)), op="layer_norm", shape=(n,), eps=eps)


@entry(1)
def group_norm(g):
    x = g.pick(lambda m: m.dtype == torch.float32 and len(m.shape) >= 2)
    return g.make("F.group_norm({0}, {groups})", x, op="group_norm", groups=g.rng.choice((1, 2)))


@entry(2)
def batch_norm(g):
    x = g.pick(lambda m: m.dtype == torch.float32 and len(m.shape) >= 2)
    c = g.meta(x).shape[1]
    training = g.flip()
    if not training:
        return g.make("F.batch_norm({0}, {1}, {2}, training=False, eps={eps})", x, g.like(torch.float32, (c,)), g.like(torch.float32, (c,)), op="batch_norm", eps=1e-5)
    mean, var = g.buffer(torch.float32, (c,)), g.buffer(torch.float32, (c,))
    return g.make("F.batch_norm({0}, {1}, {2}, training=True, momentum={momentum})", x, mean, var, op="batch_norm_training", writes=True, momentum=g.rng.choice((0.1, 0.3)))


@entry(2)
def attention(g):
    dtype = g.rng.choice((torch.float32, torch.float32, torch.bfloat16, torch.float64))
    b, h, n, k, d = 1, g.rng.randint(1, 2), g.rng.randint(1, 3), g.rng.randint(1, 3), g.rng.randint(1, 4)
    q, key, v = (g.like(dtype, (b, h, length, d)) for length in (n, k, k))
    kind = g.rng.choice(("plain", "causal", "bool", "float"))
    if kind == "plain":
        return g.make("F.scaled_dot_product_attention({0}, {1}, {2})", q, key, v, op="sdpa")
    if kind == "causal":
        return g.make("F.scaled_dot_product_attention({0}, {1}, {2}, is_causal={causal})", q, key, v, op="sdpa", causal=True)
    mask = g.like(torch.bool if kind == "bool" else dtype, (n, k))
    return g.make("F.scaled_dot_product_attention({0}, {1}, {2}, {3}, scale={scale})", q, key, v, mask, op="sdpa", scale=g.rng.choice((1.0, 0.5, 0.3)))


@entry(1)
def cross_entropy(g):
    c = g.rng.randint(1, 4)
    n = g.rng.randint(1, 3)
    return g.make("F.cross_entropy({0}, {1}, reduction={reduction})", g.like(torch.float32, (n, c)), g.index(c, (n,)), op="cross_entropy", reduction=g.rng.choice(("mean", "sum", "none")))


# Made from nothing.


@entry(2)
def arange(g):
    dtype = g.rng.choice((torch.int64, torch.int64, torch.int32, torch.float32, torch.float16))
    # Beyond 2^53 PyTorch counts other types than i64 in one way when it runs and in another when it exports.
    start, step = g.rng.choice((0, 0, 1, -3, 2**53 if dtype == torch.int64 else 2**15, 2**24)), g.rng.choice((1, 1, 2, -1))
    return g.make("torch.arange({start}, {end}, {step}, dtype={dtype})", op="arange", start=start, end=start + step * g.size(), step=step, dtype=dtype)


@entry(3)
def full(g):
    dtype = g.number_type()
    return g.make("torch.full({shape}, {c}, dtype={dtype})", op="full", shape=g.shape(), c=g.scalar_of(dtype), dtype=dtype)


@entry(3)
def filled_like(g):
    x = g.pick(any_type)
    op = g.rng.choice(("zeros_like", "ones_like", "full_like"))
    if op == "full_like":
        c = g.flip() if g.meta(x).dtype == torch.bool else g.scalar(x)
        return g.make("torch.full_like({0}, {c})", x, op=op, c=c)
    return g.make("torch.{fn}({{0}})", x, op=op)


@entry(3)
def constant(g):
    dtype = g.rng.choice((*FLOATS, *INTS, torch.bool))
    shape = g.shape()
    if math.prod(shape) > 12:
        raise Skip
    data = [g.flip() if dtype == torch.bool else g.element(dtype) for _ in range(math.prod(shape))]
    return g.make("torch.tensor({data}, dtype={dtype}).reshape({shape})", op="constant", data=data, dtype=dtype, shape=shape)


# Draws.


@entry(2)
def draw(g):
    x = g.pick(is_float)
    op = g.rng.choice(("rand_like", "randn_like", "dropout", "bernoulli", "rand", "randint_like"))
    if op == "dropout":
        return g.make("F.dropout({0}, {p}, True)", x, op=op, draws=True, p=g.rng.choice((0.1, 0.5)))
    if op == "bernoulli":
        return g.make("torch.bernoulli(torch.full_like({0}, {p}))", x, op=op, draws=True, p=0.5)
    if op == "rand":
        return g.make("torch.rand({shape})", op=op, draws=True, shape=g.meta(x).shape)
    if op == "randint_like":
        return g.make("torch.randint_like({0}, {high})", x, op=op, draws=True, high=10)
    return g.make("torch.{fn}({{0}})", x, op=op, draws=True)


@entry(1)
def dropout_in_inference(g):
    # Run as it is, it gives back its operand; decomposed by PyTorch, a copy. A write to either would tell the two apart.
    return g.make("F.dropout({0}, {p}, False).clone()", g.pick(is_float), op="dropout_off", p=0.5)


# Modes.


@entry(1)
def grad_off(g):
    x = g.pick(is_number)
    return g.make("no_grad(lambda: torch.mul({0}, {c}))", x, op="no_grad", c=g.scalar(x))


@entry(1)
def under_autocast(g):
    m, k, n = g.size(), g.size(), g.size()
    return g.make("autocast(lambda: torch.matmul({0}, {1}))", g.like(torch.float32, (m, k)), g.like(torch.float32, (k, n)), op="autocast")


# Writes.


@entry(5)
def write(g):
    target = g.target()
    m = g.meta(target)
    if m.dtype == torch.bool:
        op = g.rng.choice(("copy_", "logical_and_"))
    else:
        op = g.rng.choice("add_ mul_ sub_ copy_ fill_ zero_ clamp_ masked_fill_".split())
    if op == "zero_":
        return g.make("{0}.zero_()", target, op=op, writes=True)
    if op == "fill_":
        return g.make("{0}.fill_({c})", target, op=op, writes=True, c=g.scalar(target))
    if op == "clamp_":
        return g.make("{0}.clamp_(min={low})", target, op=op, writes=True, low=g.finite(target))
    if op == "masked_fill_":
        return g.make("{0}.masked_fill_({1}, {c})", target, g.like(torch.bool, m.shape), op=op, writes=True, c=g.scalar(target))
    return g.make("{{0}}.{fn}({{1}})", target, g.like(m.dtype, g.shorter(m.shape)), op=op, writes=True)


@entry(2)
def write_scalar(g):
    target = g.target()
    if g.meta(target).dtype == torch.bool:
        raise Skip
    return g.make("{{0}}.{fn}({{c}})", target, op=g.rng.choice(("add_", "mul_", "sub_")), writes=True, c=g.scalar(target))


@entry(1)
def write_part(g):
    """A write through a view that is made on the spot."""
    target = g.target()
    m = g.meta(target)
    if not m.shape or not m.shape[0]:
        raise Skip
    at = g.rng.randrange(m.shape[0])
    if m.dtype == torch.bool:
        return g.make("{0}[{i}].logical_not_()", target, op="write_part", writes=True, i=at)
    return g.make("{0}[{i}].add_({c})", target, op="write_part", writes=True, i=at, c=g.scalar(target))


@entry(2)
def write_indexed(g):
    """A write to some of the elements."""
    target = g.target()
    m = g.meta(target)
    if not m.shape or m.dtype == torch.bool:
        raise Skip
    at = g.index(m.shape[0], (g.size(),))
    n = g.meta(at).shape[0]
    op = g.rng.choice(("index_copy_", "index_add_", "index_fill_", "index_put_"))
    if op == "index_fill_":
        return g.make("{0}.index_fill_(0, {1}, {c})", target, at, op=op, writes=True, c=g.scalar(target))
    values = g.like(m.dtype, (n, *m.shape[1:]))
    if op == "index_put_":
        return g.make("{0}.index_put_(({1},), {2})", target, at, values, op=op, writes=True)
    return g.make("{{0}}.{fn}(0, {{1}}, {{2}})", target, at, values, op=op, writes=True)


@entry(1)
def write_out(g):
    """The argument `out` is written to."""
    target = g.target()
    m = g.meta(target)
    if m.dtype == torch.bool:
        raise Skip
    x, y = g.like(m.dtype, m.shape), g.like(m.dtype, m.shape)
    return g.make("torch.{fn}({{1}}, {{2}}, out={{0}})", target, x, y, op=g.rng.choice(("add", "mul", "sub")), writes=True)


@entry(1)
def write_by_custom(g):
    target = g.target()
    if g.meta(target).dtype == torch.bool:
        raise Skip
    return g.make("torch.ops.campaign.bump({0})", target, op="bump", writes=True)


@entry(1)
def instance_norm(g):
    x = g.pick(lambda m: m.dtype == torch.float32 and len(m.shape) == 3)
    c = g.meta(x).shape[1]
    mean, var = g.buffer(torch.float32, (c,)), g.buffer(torch.float32, (c,))
    return g.make("F.instance_norm({0}, {1}, {2}, use_input_stats={stats})", x, mean, var, op="norm_training", writes=True, stats=g.flip())


@entry(2)
def draw_otherwise(g):
    x = g.pick(lambda m: m.dtype == torch.float32 and m.shape)
    kind = g.rng.choice(("rrelu", "alpha_dropout", "feature_alpha_dropout", "multinomial", "randperm", "normal", "poisson", "sdpa", "uniform_", "randint"))
    if kind == "rrelu":
        return g.make("F.rrelu({0}, training=True)", x, op=kind, draws=True)
    if kind in ("alpha_dropout", "feature_alpha_dropout"):
        return g.make("F." + kind + "({0}, {p}, True)", x, op=kind, draws=True, p=0.4)
    if kind == "multinomial":
        return g.make("torch.multinomial({0}.abs() * 0 + 1, 1)", x, op=kind, draws=True)
    if kind == "randperm":
        return g.make("torch.randperm({n})", op=kind, draws=True, n=g.size())
    if kind == "normal":
        return g.make("torch.normal({0}, {s})", x, op=kind, draws=True, s=1.0)
    if kind == "poisson":
        return g.make("torch.poisson({0} * 0 + 1)", x, op=kind, draws=True)
    if kind == "randint":
        return g.make("torch.randint({low}, {high}, {shape})", op=kind, draws=True, low=0, high=5, shape=g.shape())
    if kind == "sdpa":
        q = g.like(torch.float32, (1, 1, 3, 2))
        return g.make("F.scaled_dot_product_attention({0}, {0}, {0}, dropout_p={p})", q, op="sdpa_dropout", draws=True, p=0.5)
    return g.make("{0}.clone().uniform_()", x, op=kind, draws=True)


@entry(1)
def recurrent(g):
    """Two layers with dropout between them; in training it draws."""
    x = g.like(torch.float32, (g.rng.randint(1, 2), 2, 2))
    h = g.like(torch.float32, (2, 2, 2))
    weights = [g.like(torch.float32, (2, 2)), g.like(torch.float32, (2, 2)), g.like(torch.float32, (2,)), g.like(torch.float32, (2,))]
    train = g.flip()
    text = "torch.{fn}({{0}}, {{1}}, [{{2}}, {{3}}, {{4}}, {{5}}] * 2, True, 2, {{p}}, " + str(train) + ", False, False)"
    return g.make(text, x, h, *weights, op="rnn_tanh", draws=train, p=0.5)


@entry(1)
def opaque(g):
    """Operators outside of the table."""
    x = g.pick(is_float)
    one = "exp2 log2 log10 tan asin atan sinh cosh asinh erfinv lgamma digamma frac isnan isinf isfinite signbit nan_to_num deg2rad sinc logit i0 count_nonzero aminmax median".split()
    two = "copysign atan2 hypot xlogy fmax fmin logaddexp nextafter heaviside".split()
    if g.flip():
        return g.make("torch.{fn}({{0}})", x, op=g.rng.choice(one))
    return g.make("torch.{fn}({{0}}, {{1}})", x, g.partner(x), op=g.rng.choice(two))


@entry(1)
def opaque_along(g):
    x = g.pick(lambda m: is_number(m) and m.shape)
    return g.make("torch.{fn}({{0}}, dim={{dim}})", x, op=g.rng.choice(("cummax", "cummin", "median", "mode", "logcumsumexp", "nansum", "count_nonzero", "norm")), dim=g.dim(x))


@entry(1)
def custom(g):
    return g.make("torch.ops.campaign.twice({0})", g.pick(is_number), op="custom")


@entry(1)
def mixed(g):
    x = g.pick(is_float)
    y, z = g.partner(x), g.partner(x)
    op = g.rng.choice(("addcmul", "addcdiv", "lerp"))
    if op == "lerp":
        return g.make("torch.lerp({0}, {1}, {w})", x, y, op=op, w=g.finite(x))
    return g.make("torch.{fn}({{0}}, {{1}}, {{2}}, value={{c}})", x, y, z, op=op, c=g.scalar(x))


@entry(2)
def bitcast(g):
    """The same bits as another type."""
    x = g.pick(lambda m: m.dtype != torch.bool)
    same = {8: (torch.int64, torch.float64), 4: (torch.int32, torch.float32), 2: (torch.int16, torch.float16, torch.bfloat16), 1: (torch.int8, torch.uint8, torch.float8_e5m2)}
    size = torch.empty((), dtype=g.meta(x).dtype).element_size()
    return g.make("{0}.view({dtype})", x, op="bitcast", dtype=g.rng.choice([d for d in same[size] if d != g.meta(x).dtype]))


@entry(1)
def windows(g):
    x = g.pick(has_dims)
    d = g.dim(x)
    n = g.meta(x).shape[d]
    if not n:
        raise Skip
    return g.make("{0}.unfold({dim}, {size}, {step})", x, op="unfold", dim=d, size=g.rng.randint(1, n), step=g.rng.randint(1, 2))
