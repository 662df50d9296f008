#!/usr/bin/env python3
"""Every operator that PyTorch tests itself with, on PyTorch's own samples: whether it is read, whether its default export is proven
equal to its decomposition, and whether the reference evaluator computes what PyTorch computes.

    python3 tests/survey/samples.py export FOLDER
    python3 tests/survey/samples.py check FOLDER target/release/magneton-ir
    python3 tests/survey/samples.py table FOLDER"""

import argparse
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from exporting import apart_with, archive, quiet

FORMS = ("default", "decomposed")
# Samples of an operator for an element type: those whose arguments are of different kinds come first.
SAMPLES = {"float32": 4, "int64": 1, "bool": 1, "bfloat16": 1}
# What ordinary samples leave out.
EDGES = (0.0, -0.0, 1.0, -1.0, float("inf"), float("-inf"), float("nan"), 0.5, -0.5, 1.5, 2.5, 3.0, -3.0, 1e-3, 88.0, -104.0)
# For operators that work element by element: sums of these depend on their order.
LARGE = (1e30, -1e30, 3.4e38)
WHOLE_EDGES = (0, -1, 1, 2, -2, 3, 63, 64, -(2**63), 2**63 - 1, 7, -7)
OPAQUE = re.compile(r'= opaque "([^"]+)"')
# What these give is open where elements are equal, or lists are not sorted.
OPEN_AT_EDGES = ("argsort", "bucketize", "searchsorted", "cummax", "cummin", "empty")
# Elements that may differ by rounding, relative to the element and absolute.
CLOSE = {"float32": (2e-4, 2e-5), "bfloat16": (4e-2, 1e-2), "float64": (1e-7, 1e-9), "float16": (4e-3, 1e-3), "complex64": (2e-4, 2e-5), "complex128": (1e-7, 1e-9)}


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    commands = parser.add_subparsers(dest="command", required=True)
    for name in ("export", "check", "table"):
        command = commands.add_parser(name)
        command.add_argument("folder", type=Path)
        if name == "check":
            command.add_argument("binary", type=os.path.abspath)
            command.add_argument("--jobs", type=int, default=1)
            command.add_argument("--failing", action="store_true", help="those alone that failed before, or were not checked")
        command.add_argument("--only", type=lambda names: names.split(","), default=[], help="some operators")
    args = parser.parse_args()
    match args.command:
        case "export":
            export_all(args.folder, args.only)
        case "check":
            check_all(args.folder, args.binary, args.jobs, args.only, args.failing)
        case "table":
            print(table(args.folder))


# Exports.


def export_all(folder, only):
    """Writes `OPERATOR/DTYPE-N/` with both forms, inputs and outputs, and a record of what PyTorch does not export."""
    quiet()
    from torch.testing._internal.common_methods_invocations import op_db

    # What an export imports is imported here, once, and not in the process of every operator.
    with tempfile.TemporaryDirectory() as nowhere:
        export_operator(op_db[0], Path(nowhere))
    for op in op_db:
        place = folder / op.formatted_name
        if (only and op.formatted_name not in only) or (place / "record.json").exists():
            continue
        place.mkdir(parents=True, exist_ok=True)
        record = apart_with(lambda: export_operator(op, place), place.name)
        (place / "record.json").write_text(json.dumps(record, indent=1) + "\n")
        print(op.formatted_name, record, flush=True)


def export_operator(op, place):
    import torch

    elementwise = "UfuncInfo" in type(op).__name__
    record = {"name": place.name, "elementwise": elementwise, "exported": 0, "random": 0, "refused": []}
    for name, most in SAMPLES.items():
        dtype = getattr(torch, name)
        if dtype not in op.supported_dtypes("cpu"):
            continue
        torch.manual_seed(0)
        for number, sample in enumerate(chosen(op, dtype, most)):
            try:
                record[export_sample(op, sample, place / f"{name}-{number}", elementwise)] += 1
            except Exception as error:
                shutil.rmtree(place / f"{name}-{number}", ignore_errors=True)
                record["refused"].append(f"{name}-{number}: {type(error).__name__}: {str(error)[:200]}")
    return record


def chosen(op, dtype, most):
    """Samples with arguments of different kinds first."""
    kinds = {}
    for number, sample in enumerate(op.sample_inputs("cpu", dtype)):
        if number == 300:
            break
        kinds.setdefault(kind((sample.input, sample.args, sample.kwargs)), []).append(sample)
    rounds = max(map(len, kinds.values()), default=0)
    # Of one kind, the first one is often the smallest.
    return [group[-1 - n] for n in range(rounds) for group in kinds.values() if n < len(group)][:most]


def kind(value):
    import torch

    match value:
        case torch.Tensor():
            return f"{value.dtype} of {value.dim()}, {0 in value.shape}"
        case dict():
            return tuple((name, kind(v)) for name, v in sorted(value.items()))
        case list() | tuple():
            return tuple(kind(v) for v in value)
    return type(value).__name__


def export_sample(op, sample, place, elementwise):
    import torch
    from torch.utils._pytree import tree_flatten, tree_unflatten

    leaves, tree = tree_flatten((sample.input, tuple(sample.args), sample.kwargs))
    where = [n for n, leaf in enumerate(leaves) if isinstance(leaf, torch.Tensor)]

    class Operator(torch.nn.Module):
        def forward(self, *tensors):
            filled = list(leaves)
            for n, tensor in zip(where, tensors):
                filled[n] = tensor
            input, args, kwargs = tree_unflatten(filled, tree)
            return op(input, *args, **kwargs)

    tensors = [leaves[n].detach() for n in where]
    computed = lambda given: [x for x in tree_flatten(Operator()(*[t.clone() for t in given]))[0] if isinstance(x, torch.Tensor)]
    torch.manual_seed(1)
    outputs = computed(tensors)
    torch.manual_seed(2)
    if any(not torch.equal(x.nan_to_num(), y.nan_to_num()) for x, y in zip(outputs, computed(tensors), strict=True)):
        return "random"
    with torch.no_grad():
        program = torch.export.export(Operator(), tuple(tensors), strict=False)
    if any(torch.Tag.nondeterministic_seeded in getattr(node.target, "tags", ()) for node in program.graph.nodes):
        return "random"
    place.mkdir()
    (place / "default.pt2").write_bytes(archive(program))
    (place / "decomposed.pt2").write_bytes(archive(program.run_decompositions()))
    names = [name for name in program.graph_signature.user_inputs]
    save(place / "plain", names, tensors, outputs)
    torch.manual_seed(3)
    for number in range(3):
        edged = [at_edges(t, EDGES + LARGE if elementwise else EDGES) if number == 0 or n % 2 == number % 2 else t for n, t in enumerate(tensors)]
        try:
            save(place / f"edges-{number}", names, edged, computed(edged))
        except (RuntimeError, IndexError, ValueError, TypeError, OverflowError):
            # Elements that the operator does not take.
            shutil.rmtree(place / f"edges-{number}", ignore_errors=True)
    return "exported"


def at_edges(tensor, edges):
    import torch

    if tensor.dtype.is_floating_point:
        return torch.tensor(edges)[torch.randint(len(edges), tensor.shape)].to(tensor.dtype)
    if tensor.dtype == torch.bool:
        return torch.rand(tensor.shape) < 0.5
    if tensor.dtype == torch.int64:
        return torch.tensor(WHOLE_EDGES)[torch.randint(len(WHOLE_EDGES), tensor.shape)]
    return tensor


def save(place, names, inputs, outputs):
    """Arrays as NumPy writes them; bfloat16, which it lacks, by its bits."""
    import numpy
    import torch

    arrays = lambda tensors: [t.detach().contiguous().resolve_conj().resolve_neg() for t in tensors]
    place.mkdir()
    for name, array in zip(names, arrays(inputs), strict=True):
        numpy.save(place / f"in.{name}.npy", as_numpy(array))
    for n, array in enumerate(arrays(outputs)):
        numpy.save(place / f"out.{n}.{str(array.dtype).removeprefix('torch.')}.npy", as_numpy(array.float() if array.dtype == torch.bfloat16 else array))


def as_numpy(tensor):
    import torch

    return tensor.view(torch.int16).numpy().view("V2") if tensor.dtype == torch.bfloat16 else tensor.numpy()


# Checks.


def check_all(folder, binary, jobs, only, failing):
    places = [p.parent for p in sorted(folder.glob("*/*/default.pt2")) if not only or p.parent.parent.name in only]
    places = [p for p in places if (p.parent / "record.json").exists() and not (failing and holds(p / "result.json"))]
    with ThreadPoolExecutor(jobs) as pool:
        for place, result in zip(places, pool.map(lambda place: check(place, binary), places)):
            (place / "result.json").write_text(json.dumps(result, indent=1) + "\n")
            if not holds(place / "result.json"):
                print(f"{place.relative_to(folder)}: {summary(result)}", flush=True)


def holds(file):
    """Whether nothing is missing in a result."""
    result = json.loads(file.read_text()) if file.exists() else {"verdict": None}
    return result["verdict"] == "equivalent" and not result["opaque"] and not result["disagrees"]


def summary(result):
    parts = [result["verdict"], result["message"] or ""]
    parts += [f"opaque: {' '.join(result['opaque'])}"] if result["opaque"] else []
    parts += [f"DISAGREES: {text}" for text in result["disagrees"][:2]]
    return " | ".join(filter(None, parts))


def check(place, binary):
    files = [str(place / f"{form}.pt2") for form in FORMS]
    opaque, disagrees, refused = set(), [], None
    for file in files:
        lowered = call(binary, "lower", file)
        opaque |= set(OPAQUE.findall(lowered.stdout))
        refused = refused or (None if lowered.returncode == 0 else said(lowered))
    if refused:
        return {"verdict": "not read", "message": refused, "opaque": sorted(opaque), "disagrees": []}
    run = call(binary, "check", *files, "--no-cache", "--format", "json")
    if run.returncode not in (0, 1):
        return {"verdict": "none", "message": said(run), "opaque": sorted(opaque), "disagrees": []}
    report = json.loads(run.stdout)
    if not opaque:
        elementwise = json.loads((place.parent / "record.json").read_text()).get("elementwise", False)
        for form, file in zip(FORMS, files):
            # A decomposition may differ at the edges from what it decomposes: PyTorch says so of its own.
            for values in sorted(place.glob("*/" if form == "default" else "plain")):
                if values.name != "plain" and place.parent.name.startswith(OPEN_AT_EDGES):
                    continue
                disagrees += [f"{form}, {values.name}: {text}" for text in compared(binary, file, values, elementwise)]
    return {"verdict": report["verdict"], "message": None, "opaque": sorted(opaque), "disagrees": disagrees}


def call(*command):
    return subprocess.run(["timeout", "60", *command], capture_output=True, text=True)


def said(run):
    return f"exit {run.returncode}: {' '.join(re.sub('[│╭╰├─×▶]+', ' ', run.stderr).split())[:300]}"


def compared(binary, file, values, elementwise):
    """Where the reference evaluator's outputs are not those of PyTorch."""
    import numpy

    with tempfile.TemporaryDirectory() as output:
        inputs = [f"--input={p.name.removeprefix('in.').removesuffix('.npy')}={p}" for p in values.glob("in.*.npy")]
        run = call(binary, "run", *inputs, "--output", output, file)
        if run.returncode != 0:
            # The reference evaluator declines what has no meaning of its own, such as an integer for NaN.
            if values.name == "plain" or "cannot be computed" not in run.stderr:
                yield said(run)
            return
        given = sorted(Path(output).iterdir(), key=lambda p: p.stat().st_mtime_ns)
        wanted = sorted(values.glob("out.*.npy"), key=lambda p: int(p.name.split(".")[1]))
        if len(given) < len(wanted):
            yield f"{len(given)} outputs for {len(wanted)}"
            return
        # What an operator writes comes first.
        for ours, theirs in zip(given[len(given) - len(wanted) :], wanted):
            dtype = theirs.name.split(".")[2]
            text = difference(numpy.load(ours), numpy.load(theirs), dtype, elementwise)
            if text:
                yield f"{theirs.name}: {text}"


def difference(ours, theirs, dtype, signs):
    import numpy

    if dtype == "bfloat16" and ours.dtype.itemsize == 2:
        ours = (ours.reshape(-1).view("u2").astype("u4") << 16).view("f4").reshape(ours.shape)
    if dtype.startswith("complex"):
        ours = ours.view(theirs.dtype).squeeze(-1)
    if dtype == "float16":
        theirs = theirs.astype(ours.dtype)
    if ours.shape != theirs.shape or ours.dtype != theirs.dtype:
        return f"{ours.dtype}{list(ours.shape)} for {theirs.dtype}{list(theirs.shape)}"
    relative, absolute = CLOSE.get(dtype, (0, 0))
    with numpy.errstate(all="ignore"):
        same = (ours == theirs) | ((ours != ours) & (theirs != theirs))
        if dtype in CLOSE:
            same |= numpy.isfinite(theirs) & (abs(ours - theirs) <= absolute + relative * abs(theirs))
        # Of a sum, the sign of 0 depends on where it starts.
        if ours.dtype.kind == "f" and signs:
            same &= (theirs != 0) | (ours != 0) | (numpy.signbit(ours) == numpy.signbit(theirs))
    wrong = numpy.argwhere(~same)
    if len(wrong):
        at = tuple(wrong[0])
        return f"{len(wrong)} of {same.size}: {ours[at]} for {theirs[at]} at {list(map(int, at))}"
    return None


# Results.


def table(folder):
    results = {p.parent: json.loads(p.read_text()) for p in sorted(folder.glob("*/*/result.json"))}
    operators = lambda keep: len({p.parent.name for p, r in results.items() if keep(r)})
    lines = ["|  | operators | samples |", "|---|---|---|"]
    for title, keep in (
        ("exported by PyTorch in both forms", lambda r: True),
        ("read, nothing opaque", lambda r: r["verdict"] not in ("not read", "none") and not r["opaque"]),
        ("both forms proven equal", lambda r: r["verdict"] == "equivalent"),
        ("`unknown`", lambda r: r["verdict"] == "unknown"),
        ("`different`", lambda r: r["verdict"] == "different"),
        ("an operator is opaque", lambda r: r["opaque"]),
        ("not read, or no answer", lambda r: r["verdict"] in ("not read", "none")),
        ("evaluated otherwise than PyTorch does", lambda r: r["disagrees"]),
    ):
        lines.append(f"| {title} | {operators(keep)} | {sum(bool(keep(r)) for r in results.values())} |")
    return "\n".join(lines)


if __name__ == "__main__":
    sys.exit(main())
