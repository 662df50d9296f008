"""What is left to do, by the number of models that it would help."""

import collections
import re

from results import load

# An operator in the text form of a graph, after its name and type.
CALL = re.compile(r"^\s*[^=()]+: [^=]*= (?:opaque \"([^\"]+)\"|(\w+))\(", re.MULTILINE)


def report(folder, part):
    results = load(folder, part)
    if results is None:
        raise SystemExit("nothing was checked yet: run `check` first")
    models = results["models"]
    verdicts = collections.Counter(m["verdict"] for m in models)
    yield f"{len(models)} models, {results['program']}, {results['date']}: " + ", ".join(f"{n} {v}" for v, n in verdicts.most_common())
    yield from refused(models)
    yield from opaque(models)
    yield from different(models)
    yield from rejected(models)
    yield from unproven(models)


def names(models):
    return ", ".join(sorted(set(models)))


def refused(models):
    groups = collections.defaultdict(list)
    for m in models:
        messages = {f["message"] for f in m["read"].values()} | {m["message"]}
        for text in sorted(filter(None, messages)):
            # The same operator refused for the same reason is one thing, whatever the node is called.
            groups[re.sub(r"node `[^`]+`", "node", text)].append(m["model"])
    yield "\n## Refused, or no answer\n"
    for text, of in ordered(groups):
        yield f"- {len(set(of))}: {text}\n  ({names(of)})"


def opaque(models):
    groups = collections.defaultdict(list)
    for m in models:
        for form in m["read"].values():
            for operator in form["opaque"]:
                groups[operator].append(m["model"])
    yield "\n## Opaque operators\n"
    for operator, of in ordered(groups):
        yield f"- {len(set(of))}: `{operator}` ({names(of)})"


def different(models):
    yield "\n## Different\n"
    for m in models:
        if m["verdict"] == "different":
            yield f"- {m['model']}: {m['witness']}"


def rejected(models):
    yield "\n## Steps that the checker did not accept\n"
    for m in models:
        for r in m.get("rejected", []):
            yield f"- {m['model']}: {r['step']}: {r['reason']}"


def unproven(models):
    """The smallest unproven pair of every model, together where the last operators are the same."""
    groups = collections.defaultdict(list)
    for m in models:
        if m["verdict"] == "unknown":
            smallest = min(m["unproven"], key=lambda u: len((u["a_mir"] or "") + (u["b_mir"] or "")) or 1 << 30, default=None)
            groups[tuple(calls(smallest, side)[-1] for side in "ab")].append((m["model"], smallest))
    yield "\n## Smallest unproven pairs\n"
    for (a, b), of in sorted(groups.items(), key=lambda g: -len(g[1])):
        yield f"### {len(of)}: `{a}` against `{b}`\n"
        for model, pair in of:
            yield f"- {model} ({sampled(pair)}): {', '.join(short(calls(pair, 'a')))} against {', '.join(short(calls(pair, 'b')))}"
        model, pair = min(of, key=lambda item: len(str(item[1])))
        if pair and pair["a_mir"]:
            yield f"\n{model}:\n\n```text\n{pair['a_mir'].strip()}\n\n{pair['b_mir'].strip()}\n```\n"
        elif pair:
            yield f"\n{model}: {pair['a_ops'][:12]} against {pair['b_ops'][:12]}\n"


def calls(pair, side):
    """The operators of one side, those of the graph if there is one."""
    if pair is None:
        return ["nothing named"]
    return [opaque or known for opaque, known in CALL.findall(pair[f"{side}_mir"] or "")] or [f"{len(pair[f'{side}_ops'])} operators"]


def sampled(pair):
    return {True: "samples agree", False: "samples differ", None: "not evaluated"}[pair["agrees_numerically"] if pair else None]


def short(operators):
    return list(dict.fromkeys(operators))[:16]


def ordered(groups):
    return sorted(groups.items(), key=lambda g: (-len(set(g[1])), g[0]))
