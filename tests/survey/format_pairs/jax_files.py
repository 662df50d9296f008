"""Writes a program in PyTorch and in JAX, right and wrong, with the binding of their parameters."""

import inspect

import numpy as np

from .jax_programs import Weight


def write(name, case, folder):
    import jax
    import torch

    form, function, operands, *weights = case
    torch.manual_seed(sum(name.encode()))
    module = (form() if weights else call(form)).eval()
    with torch.no_grad():
        for tensor in (*module.parameters(), *(b for n, b in module.named_buffers() if n.endswith(("mean", "var")))):
            tensor.add_(torch.rand_like(tensor) * 0.2)
    operands = operands()
    torch.export.save(torch.export.export(module, operands, strict=False), str(folder / f"{name}.program.pt2"))
    expected = module(*operands).detach().numpy()

    state = dict(module.state_dict())
    leaf = lambda x: isinstance(x, Weight)
    array = lambda w: state[w.name].numpy().transpose(w.dims or range(state[w.name].ndim))
    named = zip(inspect.signature(module.forward).parameters, operands)
    trees = [*weights, *(Operand(f"cast({n}; dtype=i32)" if t.dtype == torch.int64 else n) for n, t in named)]
    names = jax.tree.leaves(trees, is_leaf=lambda x: leaf(x) or isinstance(x, Operand))
    (folder / f"{name}.map").write_text("".join(f"arg{i} = {said(n)}\n" for i, n in enumerate(names)))
    values = [jax.tree.map(array, w, is_leaf=leaf) for w in weights]
    values += [t.numpy().astype(np.int32) if t.dtype == torch.int64 else t.numpy() for t in operands]
    results = {}
    for truth in ("equal", "wrong"):
        compiled = jax.jit(lambda *a: function(*a, wrong=truth == "wrong"), keep_unused=True)
        results[truth] = np.asarray(compiled(*values))
        (folder / f"{name}.{truth}.mlir").write_text(compiled.lower(*values).as_text(debug_info=True))
    same = lambda a: a.shape == expected.shape and np.allclose(a, expected, rtol=1e-3, atol=1e-4)
    # What the labels say is what is computed.
    if not same(results["equal"]) or same(results["wrong"]):
        for path in folder.glob(f"{name}.*.mlir"):
            path.unlink()
        return {"labels": "do not hold"}
    return {}


class Operand(str):
    """What an operand of JAX is of those of `forward`."""


def said(part):
    if isinstance(part, Operand) or part.dims is None:
        return part if isinstance(part, Operand) else part.name
    return f"permute({part.name}; dims={list(part.dims)})"


def call(function):
    """A module whose operands are called as those of `function`."""
    import torch

    names = ", ".join(inspect.signature(function).parameters)
    space = {"Module": torch.nn.Module, "function": function}
    exec(f"class Program(Module):\n    def forward(self, {names}):\n        return function({names})\n", space)
    return space["Program"]()
