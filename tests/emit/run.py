"""Writes optimised workloads with the program given, loads them in PyTorch and compares them with the originals.

    python3 tests/emit/run.py PROGRAM [FILE ...]

Every archive is optimised twice: `-o X.pt2` has to load with `torch.export.load` and to give on random inputs what the original
gives; so has `forward` of `-o X.py`. Without files, those of the corpus are taken that are small enough to run here.
"""

import glob
import importlib.util
import io
import logging
import os
import subprocess
import sys
import tempfile
import warnings

import torch
from torch._export.serde import serialize
from torch.export.pt2_archive import _package as package
from torch.utils import _pytree as pytree

# How far results may be apart, relative to the largest element: the tier of the proofs is `rounding`, and models are in bf16 too.
TOLERANCE = 2e-2
# Larger inputs are not made, and larger graphs not run.
MOST_ELEMENTS = 20_000_000
MOST_NODES = 3000
ROOT = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..")


def corpus():
    """Small graphs, structures of results, in-place writes, constants, and models of two families."""
    of = lambda pattern: sorted(glob.glob(os.path.join(ROOT, pattern)))
    small = of("corpus/energy/graphs/small/*.pt2")[::4]
    data = of("tests/data/outputs-*.pt2") + of("tests/data/in-place-*.pt2") + of("tests/data/weights-*.pt2")
    operators = of("tests/data/operators*.pt2") + of("tests/data/more-operators*.pt2") + of("tests/data/no-grad.pt2")
    models = of("corpus/exports/gpt2-eager.pt2") + of("corpus/exports/bert-eager.pt2")
    return small + data + operators + models


def quiet():
    warnings.filterwarnings("ignore")
    logging.disable(logging.CRITICAL)
    # Types of results that belong to libraries which need not be installed here. What is compared are the tensors.
    serialize.GraphModuleDeserializer.deserialize_module_call_graph = lambda *_: []
    # Archives of the corpus hold what this project reads of them: some lack sample inputs and weights.
    read_bytes = package.PT2ArchiveReader.read_bytes
    samples = io.BytesIO()
    torch.save(((), {}), samples)

    def read(reader, name):
        missing = name.startswith("data/sample_inputs/") and name not in reader.get_file_names()
        return samples.getvalue() if missing else read_bytes(reader, name)

    package.PT2ArchiveReader.read_bytes = read
    for part in ("_load_state_dict", "_load_constants"):
        setattr(package, part, or_nothing(getattr(package, part)))


def or_nothing(load):
    """What `load` gives; nothing where the archive lacks it."""

    def loaded(reader, model):
        try:
            return load(reader, model)
        except AssertionError:
            return {}

    return loaded


def on_cpu(graph_module):
    """Exports from the meta device make their own tensors there: here they are made on the CPU."""
    cpu = lambda arg: torch.device("cpu") if isinstance(arg, torch.device) else arg
    for module in graph_module.modules():
        for node in module.graph.nodes if isinstance(module, torch.fx.GraphModule) else ():
            node.args = tuple(cpu(arg) for arg in node.args)
            node.kwargs = {name: cpu(arg) for name, arg in node.kwargs.items()}
        if isinstance(module, torch.fx.GraphModule):
            module.recompile()
    return graph_module


def random_values(program, classes):
    """A value for each input of a program, by the name that the graph has for it; whole numbers are below `classes`."""
    generator = torch.Generator().manual_seed(1)
    metas = {n.name: n.meta["val"] for n in program.graph.nodes if n.op == "placeholder"}
    values = {}
    for spec in program.graph_signature.input_specs:
        meta = metas[spec.arg.name]
        stored = {**program.state_dict, **program.constants}.get(spec.target)
        if not isinstance(meta, torch.Tensor):
            values[spec.arg.name] = meta
        elif isinstance(stored, torch.Tensor) and stored.device.type != "meta" and stored.shape == meta.shape:
            values[spec.arg.name] = stored.detach()
        elif meta.dtype.is_floating_point:
            values[spec.arg.name] = (torch.rand(meta.shape, generator=generator) * 0.5 + 0.05).to(meta.dtype)
        else:
            values[spec.arg.name] = torch.randint(0, classes, meta.shape, generator=generator).to(meta.dtype)
    return values


def run_on_random(program):
    """Values for the inputs of a program, and what it gives for them; None if it does not run on those that are tried."""
    # The place 1 does not exist in a dimension of size 1.
    for classes in (2, 1):
        values = random_values(program, classes)
        try:
            return values, outputs(program, values)
        except IndexError:
            continue
    return None


def copied(values):
    return [v.clone() if isinstance(v, torch.Tensor) else v for v in values]


def outputs(program, values):
    """What the graph of a program gives: results by their place, new values of inputs by what they belong to."""
    inputs = [values[s.arg.name] if s.arg.name in values else program.constants[s.target] for s in program.graph_signature.input_specs]
    with torch.no_grad():
        torch.manual_seed(0)
        given = on_cpu(program.graph_module)(*copied(inputs))
    results, written = [], {}
    for spec, value in zip(program.graph_signature.output_specs, given):
        if spec.kind.name.endswith("MUTATION"):
            written[spec.target] = value
        else:
            results.append(value)
    return results, written


def compare(a, b, what):
    if not isinstance(a, torch.Tensor):
        assert a == b, f"{what}: {a!r} and {b!r}"
        return
    assert a.shape == b.shape and a.dtype == b.dtype, f"{what}: {a.dtype}{list(a.shape)} and {b.dtype}{list(b.shape)}"
    a, b = a.double(), b.double()
    same = (a == b) | (a.isnan() & b.isnan())
    scale = a.masked_fill(~a.isfinite(), 0).abs().max() if a.numel() else 1.0
    apart = (a - b).abs().masked_fill(same, 0) / (scale + 1e-12)
    assert not (apart > TOLERANCE).any() and not apart.isnan().any(), f"{what}: apart by {apart.max().item()}"


def python_results(path, program, values):
    """What `forward` of a Python file gives."""
    spec = importlib.util.spec_from_file_location("written", path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    own = {}
    for s in program.graph_signature.input_specs:
        own[s.arg.name] = values[s.arg.name]
        if s.target is not None:
            own[s.target] = values[s.arg.name]
    arguments = {name: own[given].clone() for name, (kind, given) in module.INPUTS.items() if kind != "precomputed"}
    with torch.no_grad():
        if hasattr(module, "precompute"):
            arguments |= module.precompute(arguments)
        torch.manual_seed(0)
        return pytree.tree_leaves(module.forward(**arguments), is_leaf=lambda x: x is None)


def optimised(program, file, output):
    done = subprocess.run([program, "optimize", file, "--no-cache", "-o", output], capture_output=True, text=True)
    return done.returncode, done.stderr


def check(program, file, folder):
    """None, or why nothing was compared."""
    written = os.path.join(folder, "written")
    for end in (".pt2", ".py"):
        code, reason = optimised(program, file, written + end)
        if code != 0:
            return f"not written: {reason}"
    try:
        original = torch.export.load(file)
    except RuntimeError:
        return "the original does not load either"
    new = torch.export.load(written + ".pt2")
    size = sum(v.numel() for v in (n.meta.get("val") for n in original.graph.nodes if n.op == "placeholder") if isinstance(v, torch.Tensor))
    if size > MOST_ELEMENTS or len(original.graph.nodes) > MOST_NODES:
        compile(open(written + ".py").read(), "written.py", "exec")
        return "too large to run"
    ran = run_on_random(original)
    if ran is None:
        return "the original does not run on random values"
    values, (wanted, wanted_writes) = ran
    given, given_writes = outputs(new, values)
    assert len(wanted) == len(given), f"{len(wanted)} results and {len(given)}"
    for i, (a, b) in enumerate(zip(wanted, given)):
        compare(a, b, f"result {i}")
    for name, value in wanted_writes.items():
        compare(value, given_writes[name], f"the new value of {name}")
    given = python_results(written + ".py", original, values)
    assert len(wanted) == len(given), f"{len(wanted)} results and {len(given)} of the Python file"
    for i, (a, b) in enumerate(zip(wanted, given)):
        compare(a, b, f"result {i} of the Python file")
    return None


def main():
    quiet()
    program, files = os.path.abspath(sys.argv[1]), sys.argv[2:] or corpus()
    compared, left_out, wrong = 0, [], []
    for file in files:
        shown = os.path.relpath(file, ROOT)
        with tempfile.TemporaryDirectory() as folder:
            try:
                reason = check(program, file, folder)
            except Exception as error:
                wrong.append(f"{shown}: {' '.join(str(error).split())[:500] or repr(error)}")
                continue
        if reason is None:
            compared += 1
        else:
            left_out.append(f"{shown}: {' '.join(reason.split())[:300]}")
    print(f"{compared} workloads compared with what was written of them, {len(left_out)} not")
    for line in left_out:
        print(f"  {line}")
    for line in wrong:
        print(f"WRONG {line}")
    return 1 if wrong or compared < len(files) * 3 // 4 else 0


if __name__ == "__main__":
    sys.exit(main())
