"""Products, indices, complex numbers, transforms and geometry, as people rewrite them."""

import math

import torch
from torch.nn import functional as F

from .operands import normal, whole


def interactions(x):
    """Products of all pairs of features: DLRM."""
    row, column = torch.triu_indices(4, 4, 1)
    return (x @ x.mT)[:, row, column]


def interactions_listed(x, skip=1):
    pairs = [(i, j) for i in range(4) for j in range(4) if (i < j if skip else i <= j)]
    return torch.stack([(x[:, i] * x[:, j]).sum(-1) for i, j in pairs], -1)


def lower(x):
    row, column = torch.tril_indices(4, 4)
    return torch.zeros(2, 4, 4).index_put((torch.arange(2)[:, None], row, column), x)


def lower_by_places(x, turned=False):
    i, j = torch.arange(4)[:, None], torch.arange(4)[None]
    place = (i * (i + 1) // 2 + j).clamp(max=9)
    y = torch.where(i >= j, x[:, place.flatten()].view(2, 4, 4), 0.0)
    return y.mT if turned else y


def quadratic(x, a):
    return torch.einsum("bi,ij,bj->b", x, a, x)


def quadratic_by_symmetry(x, a, half=0.5):
    s = half * (a + a.T)
    return ((x @ s) * x).sum(-1)


def traced(a, b):
    return torch.trace(a @ b)


def traced_by_sum(a, b, turned=True):
    return (a * (b.T if turned else b)).sum()


def kronecker(x, a, b):
    return torch.kron(a, b) @ x


def kronecker_by_products(x, a, b, swapped=False):
    m = x.view(3, 4)
    return (b @ x.view(4, 3) @ a.T).reshape(-1) if swapped else (a @ m @ b.T).reshape(-1)


def core(g, a, b, c):
    return torch.einsum("pqr,ip,jq,kr->ijk", g, a, b, c)


def core_in_modes(g, a, b, c, order=(0, 1, 2)):
    y = torch.tensordot(g, c, ([2], [1]))
    y = torch.tensordot(y, b, ([1], [1])).transpose(1, 2)
    y = torch.tensordot(y, a, ([0], [1]))
    return y.permute(2, 0, 1) if order == (0, 1, 2) else y.permute(2, 1, 0)


def gram(x):
    n, c, h, w = x.shape
    f = x.view(n, c, h * w)
    return torch.bmm(f, f.transpose(1, 2)) / (c * h * w)


def gram_by_einsum(x, parts=60):
    return torch.einsum("nchw,ndhw->ncd", x, x) / parts


def turned_complex(a, b):
    return torch.view_as_real(torch.complex(a[..., 0], a[..., 1]) * torch.complex(b[..., 0], b[..., 1]))


def turned_in_three(a, b, sign=-1):
    """Gauss: three products instead of four."""
    (p, q), (r, s) = a.unbind(-1), b.unbind(-1)
    first, second, third = r * (p + q), p * (s - r), q * (r + s)
    return torch.stack([first + sign * third, first + second], -1)


def power(x):
    return torch.fft.rfft(x).abs().square()


def power_by_products(x, sign=-1):
    k, n = torch.arange(4)[:, None].float(), torch.arange(6)[None].float()
    w = 2 * math.pi * k * n / 6
    return (x @ w.cos().T) ** 2 - sign * (x @ w.sin().T) ** 2


def filtered(x, k):
    return torch.fft.irfft(torch.fft.rfft(x) * torch.fft.rfft(k), n=6)


def filtered_by_circulant(x, k, turned=False):
    d = (torch.arange(6)[:, None] - torch.arange(6)[None]) % 6
    return x @ (k[d] if turned else k[d].T)


def energy(x):
    return (torch.fft.fft(x, norm="ortho").abs() ** 2).sum(-1)


def energy_of_signal(x, scale=1.0):
    return scale * (x * x).sum(-1)


def hadamard(x):
    for size in (1, 2, 4):
        x = x.view(3, -1, 2, size)
        x = torch.stack([x[:, :, 0] + x[:, :, 1], x[:, :, 0] - x[:, :, 1]], 2)
    return x.view(3, 8) / math.sqrt(8)


def hadamard_by_product(x, sign=-1.0):
    h = torch.tensor([[1.0, 1.0], [1.0, sign]])
    plain = torch.tensor([[1.0, 1.0], [1.0, -1.0]])
    return x @ torch.kron(torch.kron(h, plain), plain) / 8**0.5


def cosine_transform(x):
    n = torch.arange(6).float()
    return x @ (2 * torch.cos(math.pi * (n[:, None] + 0.5) * n[None] / 6))


def cosine_transform_by_fft(x, sign=-1):
    y = torch.cat([x, x.flip(-1)], -1)
    k = torch.arange(6).float()
    turn = torch.polar(torch.ones(6), sign * math.pi * k / 12)
    return (torch.fft.fft(y)[..., :6] * turn).real


def distances(x, y):
    return torch.cdist(x, y).square()


def distances_by_products(x, y, twice=2):
    return x.square().sum(-1)[:, :, None] + y.square().sum(-1)[:, None] - twice * torch.bmm(x, y.mT)


def kernel(x, y):
    return torch.exp(-0.5 * ((x[:, None] - y[None]) ** 2).sum(-1))


def kernel_by_factors(x, y, half=0.5):
    return torch.exp(x @ y.T) * torch.exp(-half * x.pow(2).sum(-1))[:, None] * torch.exp(-half * y.pow(2).sum(-1))[None]


def turned_points(q, p):
    """A rotation by a unit quaternion, as two cross products."""
    w, v = q[:, :1], q[:, 1:]
    t = 2 * torch.linalg.cross(v, p)
    return p + w * t + torch.linalg.cross(v, t)


def turned_by_matrix(q, p, sign=1):
    w, x, y, z = q.unbind(-1)
    m = torch.stack([1 - 2 * (y * y + z * z), 2 * (x * y - sign * w * z), 2 * (x * z + w * y),
                     2 * (x * y + w * z), 1 - 2 * (x * x + z * z), 2 * (y * z - w * x),
                     2 * (x * z - w * y), 2 * (y * z + w * x), 1 - 2 * (x * x + y * y)], -1).view(-1, 3, 3)
    return torch.einsum("bij,bj->bi", m, p)


def projected_points(p, k, r, t):
    c = p @ r.T + t
    return torch.stack([k[0] * c[:, 0] / c[:, 2] + k[2], k[1] * c[:, 1] / c[:, 2] + k[3]], -1)


def projected_homogeneous(p, k, r, t, swapped=False):
    zero, one = torch.zeros(()), torch.ones(())
    camera = torch.stack([k[0], zero, k[2], zero, k[1], k[3], zero, zero, one]).view(3, 3)
    camera = camera[[1, 0, 2]] if swapped else camera
    outer = torch.cat([r, t[:, None]], 1)
    y = F.pad(p, (0, 1), value=1.0) @ (camera @ outer).T
    return y[:, :2] / y[:, 2:]


def overlap(a, b):
    low, high = torch.maximum(a[:, :2], b[:, :2]), torch.minimum(a[:, 2:], b[:, 2:])
    both = (high - low).clamp(min=0).prod(-1)
    area = lambda t: (t[:, 2:] - t[:, :2]).prod(-1)
    return both / (area(a) + area(b) - both)


def overlap_by_sides(a, b, floor=True):
    sides = lambda i: torch.min(a[:, i + 2], b[:, i + 2]) - torch.max(a[:, i], b[:, i])
    w, h = sides(0), sides(1)
    both = w.relu() * h.relu() if floor else w * h
    area = lambda t: (t[:, 2] - t[:, 0]) * (t[:, 3] - t[:, 1])
    return both / (area(a) - both + area(b))


def guided(u, c):
    return u + 7.5 * (c - u)


def guided_by_lerp(both, scale=7.5):
    return torch.lerp(*both, scale)


def denoised(x, e, a, b):
    clean = (x - (1 - a).sqrt() * e) / a.sqrt()
    return b.sqrt() * clean + (1 - b).sqrt() * e


def denoised_by_factors(x, e, a, b, sign=-1):
    scale = (b / a).sqrt()
    return scale * x + ((1 - b).sqrt() + sign * scale * (1 - a).sqrt()) * e


def aggregated(x, source, target):
    return torch.zeros(5, 4).index_add(0, target, x[source])


def aggregated_by_adjacency(x, source, target, turned=False):
    hot = lambda i: F.one_hot(i, 5).to(x.dtype)
    a = hot(source).T @ hot(target) if turned else hot(target).T @ hot(source)
    return a @ x


def laplacian(x, a):
    return x.T @ (torch.diag(a.sum(1)) - a) @ x


def laplacian_by_degrees(x, a, dim=1):
    return x.T @ (a.sum(dim)[:, None] * x) - x.T @ (a @ x)


def laplacian_by_two(x, a):
    return laplacian_by_degrees(x, a, 0)


def buckets_by_count(x, edges, closed=False):
    return ((x[..., None] >= edges) if closed else (x[..., None] > edges)).sum(-1)


def whole_buckets(x):
    return torch.bucketize(x, torch.tensor([1, 3, 5]))


def whole_buckets_by_count(x, closed=False):
    return buckets_by_count(x, torch.tensor([1, 3, 5]), closed)


def squared_relu(x):
    return F.relu(x) ** 2


def squared_by_product(x, both=False):
    return x * (x.abs() if both else x.clamp(min=0))


def leaky(x):
    return F.leaky_relu(x, 0.1)


def leaky_by_maximum(x, slope=0.1):
    return torch.maximum(x, slope * x)


def absolute(x):
    return x.abs().sum(-1)


def absolute_by_parts(x, sign=1):
    return (F.relu(x) + sign * F.relu(-x)).sum(-1)


def luma(x):
    m = torch.tensor([[0.299, 0.587, 0.114], [-0.169, -0.331, 0.5], [0.5, -0.419, -0.081]])
    return torch.einsum("ij,bjhw->bihw", m, x)


def luma_by_channels(x, blue=0.114):
    r, g, b = x.unbind(1)
    return torch.stack([0.299 * r + 0.587 * g + blue * b, 0.5 * b - 0.169 * r - 0.331 * g, 0.5 * r - 0.419 * g - 0.081 * b], 1)


def chebyshev(x, c):
    t = [torch.ones_like(x), x]
    for _ in range(2):
        t.append(2 * x * t[-1] - t[-2])
    return sum(c[i] * t[i] for i in range(4))


def chebyshev_by_powers(x, c, last=3):
    return c[0] - c[2] + (c[1] - last * c[3]) * x + 2 * c[2] * x**2 + 4 * c[3] * x**3


def ranked_top(x):
    return x.topk(3, -1).values


def ranked_by_sort(x, count=3):
    return x.sort(-1, descending=True).values[..., 3 - count:6 - count]


def corrected(x, y):
    x, y = x - x.mean(-1, keepdim=True), y - y.mean(-1, keepdim=True)
    return (x * y).sum(-1) / (x.norm(dim=-1) * y.norm(dim=-1))


def corrected_by_moments(x, y, power=2):
    covariance = (x * y).mean(-1) - x.mean(-1) * y.mean(-1)
    return covariance / ((x.var(-1, correction=0) * y.var(-1, correction=0)) ** (1 / power))


def inverse(m):
    a, b, c, d = m.flatten(1).unbind(-1)
    det = a * d - b * c
    return torch.stack([d, -b, -c, a], -1).view(-1, 2, 2) / det[:, None, None]


def inverse_by_trace(m, sign=1):
    """Cayley and Hamilton."""
    trace = m.diagonal(dim1=1, dim2=2).sum(-1)
    det = m[:, 0, 0] * m[:, 1, 1] - m[:, 0, 1] * m[:, 1, 0]
    return (sign * trace[:, None, None] * torch.eye(2) - m) / det[:, None, None]


def rewrites():
    f = normal
    corners = lambda: (lambda t: torch.cat([t[:, :2], t[:, :2] + t[:, 2:].abs() + 0.1], 1))(f(6, 4))
    return [
        ("interactions-listed", interactions, interactions_listed, lambda x: (x @ x.mT)[:, [0, 0, 0, 1, 1, 3], [1, 2, 3, 2, 3, 3]], (f(2, 4, 5),)),
        ("lower-by-places", lower, lower_by_places, lambda x: lower_by_places(x, turned=True), (f(2, 10),)),
        ("quadratic-by-symmetry", quadratic, quadratic_by_symmetry, lambda *a: quadratic_by_symmetry(*a, half=1.0), (f(3, 4), f(4, 4))),
        ("trace-by-sum", traced, traced_by_sum, lambda *a: traced_by_sum(*a, turned=False), (f(4, 4), f(4, 4))),
        ("kronecker-by-products", kronecker, kronecker_by_products, lambda *a: kronecker_by_products(*a, swapped=True), (f(12), f(3, 3), f(4, 4))),
        ("core-in-modes", core, core_in_modes, lambda *a: core_in_modes(*a, order=(1, 0, 2)), (f(2, 2, 3), f(4, 2), f(4, 2), f(5, 3))),
        ("gram-by-einsum", gram, gram_by_einsum, lambda x: gram_by_einsum(x, parts=20), (f(2, 3, 4, 5),)),
        ("complex-in-three", turned_complex, turned_in_three, lambda *a: turned_in_three(*a, sign=1), (f(3, 4, 2), f(3, 4, 2))),
        ("power-by-products", power, power_by_products, lambda x: power_by_products(x, sign=1), (f(3, 6),)),
        ("filter-by-circulant", filtered, filtered_by_circulant, lambda *a: filtered_by_circulant(*a, turned=True), (f(3, 6), f(6))),
        ("energy-of-signal", energy, energy_of_signal, lambda x: energy_of_signal(x, scale=8.0), (f(3, 8),)),
        ("hadamard-by-product", hadamard, hadamard_by_product, lambda x: hadamard_by_product(x, sign=1.0), (f(3, 8),)),
        ("cosines-by-fft", cosine_transform, cosine_transform_by_fft, lambda x: cosine_transform_by_fft(x, sign=1), (f(3, 6),)),
        ("squared-distances", distances, distances_by_products, lambda *a: distances_by_products(*a, twice=1), (f(2, 4, 3), f(2, 5, 3))),
        ("kernel-by-factors", kernel, kernel_by_factors, lambda *a: kernel_by_factors(*a, half=1.0), (f(4, 3), f(5, 3))),
        ("turned-by-matrix", lambda q, p: turned_points(F.normalize(q, dim=-1), p), lambda q, p: turned_by_matrix(F.normalize(q, dim=-1), p),
         lambda q, p: turned_by_matrix(F.normalize(q, dim=-1), p, sign=-1), (f(5, 4), f(5, 3))),
        ("points-homogeneous", projected_points, projected_homogeneous, lambda *a: projected_homogeneous(*a, swapped=True), (f(5, 3), f(4), f(3, 3), f(3))),
        ("overlap-by-sides", overlap, overlap_by_sides, lambda *a: overlap_by_sides(*a, floor=False), (corners(), corners())),
        ("guidance-by-lerp", lambda x: guided(*x.chunk(2)), lambda x: guided_by_lerp(x.chunk(2)), lambda x: guided_by_lerp(x.chunk(2), 6.5), (f(2, 3, 4),)),
        ("denoising-by-factors", lambda x, e, a, b: denoised(x, e, a.sigmoid(), b.sigmoid()), lambda x, e, a, b: denoised_by_factors(x, e, a.sigmoid(), b.sigmoid()),
         lambda x, e, a, b: denoised_by_factors(x, e, a.sigmoid(), b.sigmoid(), sign=1), (f(2, 3), f(2, 3), f(2, 1), f(2, 1))),
        ("messages-by-adjacency", aggregated, aggregated_by_adjacency, lambda *a: aggregated_by_adjacency(*a, turned=True), (f(5, 4), whole(5, 9), whole(5, 9))),
        ("laplacian-by-degrees", laplacian, laplacian_by_degrees, laplacian_by_two, (f(5, 3), f(5, 5).abs())),
        ("buckets-by-count", whole_buckets, whole_buckets_by_count, lambda x: whole_buckets_by_count(x, closed=True), (whole(7, 3, 4),)),
        ("squared-relu", squared_relu, squared_by_product, lambda x: squared_by_product(x, both=True), (f(3, 4),)),
        ("leaky-by-maximum", leaky, leaky_by_maximum, lambda x: torch.minimum(x, 0.1 * x), (f(3, 4),)),
        ("absolute-by-parts", absolute, absolute_by_parts, lambda x: absolute_by_parts(x, sign=-1), (f(3, 4),)),
        ("colours-by-channels", luma, luma_by_channels, lambda x: luma_by_channels(x, blue=0.141), (f(2, 3, 4, 5),)),
        ("chebyshev-by-powers", chebyshev, chebyshev_by_powers, lambda *a: chebyshev_by_powers(*a, last=2), (f(3, 4), f(4))),
        ("largest-by-sort", ranked_top, ranked_by_sort, lambda x: ranked_by_sort(x, count=2), (f(3, 6),)),
        ("correlation-by-moments", corrected, corrected_by_moments, lambda *a: corrected_by_moments(*a, power=1), (f(3, 7), f(3, 7))),
        ("inverse-by-trace", inverse, inverse_by_trace, lambda m: inverse_by_trace(m, sign=-1), (f(3, 2, 2),)),
    ]
