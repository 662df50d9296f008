"""Writes `complex-operators.pt2`, its decomposed form and the values that PyTorch computes: a program of operators on complex
numbers. And the pairs under `complex`: `NAME.b-same.pt2` computes what `NAME.a.pt2` does, `NAME.b-other.pt2` does not.

Needs torch 2.11. The files are checked in; run this only to add operators and pairs.
"""

import json

import torch
from make_effects import Program, nothing, strip
from make_exports import HERE, numbers, repack, save
from torch import nn

EDGES = torch.tensor([0.0, -0.0, 1.0, -2.0, float("inf"), -float("inf"), float("nan"), 1e-20])


class ComplexOperators(nn.Module):
    def __init__(self):
        super().__init__()
        self.weight = nn.Parameter(torch.randn(6, dtype=torch.complex64))
        self.register_buffer("wide", torch.randn(3, 6, dtype=torch.complex128).mT.contiguous().mT)

    def forward(self, x, y, z, r, i, edges):
        """x, y: f32[4, 6, 2], z: complex64[4, 6], r: f32[4, 6], i: i64[3], edges: f32[64, 2]"""
        results = []
        out = results.append
        a, b = torch.view_as_complex(x), torch.view_as_complex(y)
        # arithmetic
        out(a * b), out(a * b[0]), out(a * r), out(a * 2.5), out(2 * a), out(a * (1 + 2j)), out(a * i.sum()), out(a * self.weight), out(a[:3] * self.wide)
        out(a / b), out(a / r), out(a / 4), out(1 / a), out(r / a), out(a + b), out(a + r), out(a + 1.5), out(torch.add(a, b, alpha=2)), out(a - b), out(r - a), out(1.5 - a), out(torch.sub(a, r, alpha=3)), out(a + (0.5 - 1j)), out(-a)
        out(a.conj() * b), out(torch.conj_physical(a)), out(a.conj().real), out(a.real), out(b.imag), out(a.abs()), out(a**2), out(a.square()), out(a.mean()), out(a.mean(1)), out(a.mean((0, 1), keepdim=True))
        out(torch.complex(r, r * 2)), out(torch.polar(r, x[..., 0])), out(torch.polar(r, r)), out(torch.where(r > 0, a, b)), out(torch.where(r > 0, a, 1.0)), out(a.sum()), out(a.sum(-1)), out(a.sum(0, keepdim=True)), out(a.cumsum(1))
        # types
        out(r.to(torch.complex64)), out(i.to(torch.complex64)), out(a.to(torch.complex128)), out(self.wide.to(torch.complex64)), out(torch.zeros_like(a)), out(torch.ones_like(a) * b), out(torch.full_like(a, 3.0) + a), out(torch.full((2, 3), 1 - 2j, dtype=torch.complex64)), out(a * self.wide[:1])
        # shapes
        out(a.reshape(2, -1)), out(a.view(24)), out(a.T), out(a.mT), out(a.permute(1, 0)), out(a.transpose(-1, -2).contiguous()), out(a.unsqueeze(-1)), out(a.unsqueeze(0)), out(a[:, None]), out(a[None].squeeze(0)), out(a[..., 1:5:2]), out(a.select(-1, 2)), out(a[:, -1]), out(a.narrow(1, 1, 3)), out(a[1].expand(3, -1)), out(a.repeat(2, 1)), out(a.flatten())
        out(torch.cat([a, b], -1)), out(torch.stack([a, b], -1)), out(a.chunk(2, -1)[1]), out(a.split(4, -1)[1]), out(a.unbind(1)[3]), out(a.flip(-1)), out(a.roll(1, -1)), out(a[i]), out(a[:, i]), out(a.index_select(1, i)), out(nn.functional.pad(a, (1, 2))), out(a.clone()), out(torch.view_as_real(a.T)), out(a.movedim(0, -1)), out(a.repeat_interleave(2, 1)), out(a.swapaxes(0, 1).unflatten(1, (2, 2)))
        # Fourier transforms
        fft = torch.fft
        out(fft.fft(a)), out(fft.ifft(a)), out(fft.fft(a, n=4, dim=0)), out(fft.fft(a, n=9, norm="ortho")), out(fft.ifft(a, norm="forward")), out(fft.fft(r)), out(fft.rfft(r)), out(fft.rfft(r, n=9, dim=0, norm="forward")), out(fft.irfft(a)), out(fft.irfft(a, n=7)), out(fft.irfft(a, n=15, norm="ortho")), out(fft.irfft(a, dim=0))
        out(fft.fft2(a)), out(fft.ifft2(a[None])), out(fft.rfft2(r)), out(fft.irfft2(a)), out(fft.irfft2(a, s=(3, 9))), out(fft.fftn(a)), out(fft.rfftn(r, dim=(1, 0))), out(fft.irfftn(a, dim=(1, 0))), out(fft.ifftn(a, s=(3,))), out(fft.fftshift(a)), out(fft.ifftshift(r, dim=-1)), out(fft.rfft(i)), out(fft.fft(a).real)
        signal = x.flatten()
        out(torch.view_as_real(torch.stft(signal, 8, 3, return_complex=True, center=False))), out(torch.stft(signal[None], 8, 3, 6, r[0], return_complex=True, normalized=True)), out(torch.stft(signal, 8, window=signal[:8], return_complex=True, onesided=False, center=False))
        # written in place
        w = z.clone()
        w.mul_(b)
        w[1:3] = a[:2]
        w.real.add_(1)
        out(w), out(w.imag), out(z)
        # what is not finite
        e = torch.view_as_complex(edges)
        p, q = e[::7, None], e[None]
        out(p * q), out(p + q), out(p - q), out(p * 1.0), out(-e), out(e.conj().resolve_conj()), out(e + 1), out(1 - e), out(p * edges[::3, 0]), out(e.real), out(torch.polar(edges[:, 0], edges[:, 1]))
        return tuple(results)


def inputs():
    generator = torch.Generator().manual_seed(0)

    def normal(*shape):
        return torch.randn(shape, generator=generator)

    z = torch.view_as_complex(normal(4, 6, 2)).clone()
    return (normal(4, 6, 2), normal(4, 6, 2), z, normal(4, 6), torch.tensor([2, 0, 3]), torch.cartesian_prod(EDGES, EDGES))


def values(tensor):
    return numbers(torch.view_as_real(tensor.resolve_conj()) if tensor.is_complex() else tensor)


def write_operators():
    torch.manual_seed(0)
    model = ComplexOperators().eval()
    program = torch.export.export(model, inputs())
    given = dict(model.state_dict()) | dict(zip("x y z r i edges".split(), inputs()))
    recorded = {
        "inputs": {name: values(tensor.detach()) for name, tensor in given.items()},
        "outputs": [values(tensor.detach()) for tensor in model(*inputs())],
    }
    (HERE / "complex-operators.json").write_text(json.dumps(recorded, separators=(",", ":")))
    save("complex-operators", program)
    save("complex-operators-decomposed", program.run_decompositions())


# Two tokens of two heads of four features, and an angle for each token and pair of features.
X, ANGLES = torch.randn(1, 2, 2, 4), torch.randn(2, 1, 2)


def turned(_, x, angles):
    pairs = torch.view_as_complex(x.reshape(1, 2, 2, 2, 2))
    return torch.view_as_real(pairs * torch.polar(torch.ones_like(angles), angles)).flatten(3)


def interleaved(sign, first=lambda x: x[..., ::2], second=lambda x: x[..., 1::2]):
    def run(_, x, angles):
        cos, sin = angles.cos(), sign * angles.sin()
        return torch.stack([first(x) * cos - second(x) * sin, first(x) * sin + second(x) * cos], -1).flatten(3)

    return run


def by_table(_, x, angles):
    table = torch.complex(angles.cos(), angles.sin())
    return torch.view_as_real(table * torch.view_as_complex(x.unflatten(-1, (-1, 2)))).reshape(x.shape)


def halves(_, x, angles):
    angles = torch.cat([angles, angles], -1)
    rotated = torch.cat([-x[..., 2:], x[..., :2]], -1)
    return x * angles.cos() + rotated * angles.sin()


def halves_of_sorted(self, x, angles):
    order = torch.tensor([0, 2, 1, 3])
    return halves(self, x[..., order], angles)[..., order]


def gated(self, x, angles):
    spectrum = torch.fft.rfft(x, dim=-1, norm="ortho")
    return torch.fft.irfft(spectrum * self.gate, n=4, dim=-1, norm="ortho")


def gated_by_parts(self, x, angles):
    spectrum, gate = torch.view_as_real(torch.fft.rfft(x, dim=-1)), torch.view_as_real(self.gate)
    (a, b), (c, d) = spectrum.unbind(-1), gate.unbind(-1)
    return torch.fft.irfft(torch.complex(a * c - b * d, a * d + b * c), n=4, dim=-1)


def gated_the_other_way(self, x, angles):
    return torch.fft.irfft(torch.fft.rfft(x, dim=-1) * self.gate.conj(), n=4, dim=-1)


def gate(self):
    self.gate = nn.Parameter(torch.randn(3, dtype=torch.complex64))


def transformed(_, x, angles):
    return torch.view_as_real(torch.fft.fft(x, dim=-1))


def waves(sign):
    def run(_, x, angles):
        cos = torch.tensor([[1.0, 1, 1, 1], [1, 0, -1, 0], [1, -1, 1, -1], [1, 0, -1, 0]])
        sin = torch.tensor([[0.0, 0, 0, 0], [0, 1, 0, -1], [0, 0, 0, 0], [0, -1, 0, 1]])
        return torch.stack([x @ cos, sign * (x @ sin)], -1)

    return run


def opaque(_, x, angles):
    return torch.view_as_real(torch.tanh(torch.view_as_complex(x.reshape(2, 2, 2, 2))))


def opaque_on_parts(_, x, angles):
    return torch.tanh(x.reshape(2, 2, 2, 2))


def returned(_, x, angles):
    return torch.view_as_complex(x.reshape(2, 2, 2, 2)) * 2


def returned_as_parts(_, x, angles):
    return torch.view_as_real(torch.view_as_complex(x.reshape(2, 2, 2, 2)) * 2)


def conjugate_written(_, x, angles):
    z = torch.view_as_complex(x.reshape(2, 2, 2, 2) + 1)
    return torch.view_as_real(z * z.conj())


def squared_length(_, x, angles):
    x = x.reshape(2, 2, 2, 2) + 1
    return torch.stack([x.square().sum(-1), torch.zeros(2, 2, 2)], -1)


def complex_pairs(x):
    return torch.view_as_complex(x.reshape(2, 2, 2, 2))


def mixed(self, x, angles):
    return torch.view_as_real(torch.einsum("thp,hpq->thq", complex_pairs(x), self.mix))


def mixed_by_parts(self, x, angles):
    (a, b), (c, d) = torch.view_as_real(complex_pairs(x)).unbind(-1), torch.view_as_real(self.mix).unbind(-1)
    product = lambda u, v: (u[..., None] * v).sum(-2)
    return torch.stack([product(a, c) - product(b, d), product(a, d) + product(b, c)], -1)


def mixed_with_conjugates(self, x, angles):
    return torch.view_as_real(torch.einsum("thp,hpq->thq", complex_pairs(x), self.mix.conj()))


def mixed_in_batches(self, x, angles):
    return torch.view_as_real((complex_pairs(x).transpose(0, 1) @ self.mix).transpose(0, 1))


def mix(self):
    self.mix = nn.Parameter(torch.randn(2, 2, 3, dtype=torch.complex64))


PAIRS = [
    ("rope-interleaved", turned, interleaved(1), "same", nothing),
    ("rope-by-table", turned, by_table, "same", nothing),
    ("rope-halves-of-sorted", turned, halves_of_sorted, "same", nothing),
    ("rope-other-direction", turned, interleaved(-1), "other", nothing),
    ("rope-halves", turned, halves, "other", nothing),
    ("rope-swapped", turned, interleaved(1, lambda x: x[..., 1::2], lambda x: x[..., ::2]), "other", nothing),
    ("gate-by-parts", gated, gated_by_parts, "same", gate),
    ("gate-conjugate", gated, gated_the_other_way, "other", gate),
    ("transform-by-product", transformed, waves(-1), "same", nothing),
    ("transform-other-direction", transformed, waves(1), "other", nothing),
    ("opaque-on-parts", opaque, opaque_on_parts, "other", nothing),
    ("returned-as-parts", returned, returned_as_parts, "other", nothing),
    ("product-by-parts", mixed, mixed_by_parts, "same", mix),
    ("product-in-batches", mixed, mixed_in_batches, "same", mix),
    ("product-conjugate", mixed, mixed_with_conjugates, "other", mix),
    ("times-conjugate", conjugate_written, squared_length, "same", nothing),
]


def write_pairs():
    folder = HERE / "complex"
    folder.mkdir(exist_ok=True)
    for name, a, b, relation, setup in PAIRS:
        for run, end in [(a, "a"), (b, f"b-{relation}")]:
            torch.manual_seed(0)
            program = torch.export.export(Program(run, setup).eval(), (X.clone(), ANGLES.clone()))
            strip(program.graph_module)
            path = folder / f"{name}.{end}.pt2"
            torch.export.save(program, path)
            repack(path)


if __name__ == "__main__":
    write_operators()
    write_pairs()
