"""The operators that occur in the exports, and which of them magneton-ir reads."""

import json
import zipfile

from exporting import FORMS
from results import load


def overloads(file):
    """The operators of one archive, those of nested graphs too, with how often they occur."""
    with zipfile.ZipFile(file) as archive:
        name = next(n for n in archive.namelist() if n.endswith("models/model.json"))
        counts = {}
        collect(json.loads(archive.read(name))["graph_module"]["graph"], counts)
    return counts


def collect(part, counts):
    if isinstance(part, dict):
        for node in part.get("nodes") or []:
            counts[node["target"]] = counts.get(node["target"], 0) + 1
        for value in part.values():
            collect(value, counts)
    elif isinstance(part, list):
        for value in part:
            collect(value, counts)


def full_name(target):
    """A target as magneton-ir names it: `aten.add.Tensor`, `aten.relu`."""
    return target.removeprefix("torch.ops.").removesuffix(".default")


def functional(name):
    """An in-place operator is read as what it computes."""
    namespace, _, rest = name.partition(".")
    base, dot, overload = rest.partition(".")
    return f"{namespace}.{base.rstrip('_')}{dot}{overload}"


def table(folder, part):
    """One line for each overload: models, nodes, whether it is read."""
    results = load(folder, part)
    if results is None:
        raise SystemExit("nothing was checked yet: run `check` first")
    found = {}
    for model in results["models"]:
        for form in FORMS:
            read = model["read"][form]
            for target, count in overloads(folder / part / f"{model['model']}.{form}.pt2").items():
                name = full_name(target)
                entry = found.setdefault(name, {"models": set(), "nodes": 0, "read": set(), "opaque": set(), "refused": set()})
                entry["models"].add(model["model"])
                entry["nodes"] += count
                if read["read"]:
                    opaque = name in read["opaque"] or functional(name) in read["opaque"]
                    entry["opaque" if opaque else "read"].add(model["model"])
                elif name in mentioned(read["message"]):
                    entry["refused"].add(model["model"])
    yield "operator\tmodels\tnodes\tread\topaque in\trefused in"
    for name, e in sorted(found.items(), key=lambda item: (-len(item[1]["models"]), item[0])):
        # An operator that occurs only in files that are refused for another one is neither.
        state = "in some" if e["read"] and (e["opaque"] or e["refused"]) else "yes" if e["read"] else "no" if e["opaque"] or e["refused"] else "not known"
        yield f"{name}\t{len(e['models'])}\t{e['nodes']}\t{state}\t{len(e['opaque'])}\t{len(e['refused'])}"


def mentioned(message):
    return {full_name(word.strip("`:(),")) for word in (message or "").split()}
