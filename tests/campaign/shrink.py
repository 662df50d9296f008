"""Makes a pair smaller while the same thing stays wrong with its verdict."""

from dataclasses import replace

import inputs as values
from program import Broken, Input, drop_unused, trace, without_dead_code


def shrunk(pair, kind, why, test, tries=60):
    """The smallest pair found, and why it is wrong. `test` gives class and reason of a pair."""
    improved = True
    while improved and tries > 0:
        improved = False
        for candidate in smaller(pair):
            if tries <= 0:
                break
            tries -= 1
            try:
                found, reason = test(candidate)
            except Exception:
                continue
            if found == kind:
                pair, why, improved = candidate, reason, True
                break
    return pair, why


def smaller(pair):
    for change in (fewer_outputs, cut_values, fewer_writes):
        for a, b in change(pair):
            made = cleaned(pair, a, b)
            if made is not None:
                yield made


def cleaned(pair, a, b):
    a, b = drop_unused([without_dead_code(a), without_dead_code(b)])
    if pair.a is pair.b:
        b = a
    try:
        for p in (a, b):
            trace(p, values.draw(p, "ordinary", 0))
    except Broken:
        return None
    return replace(pair, a=a, b=b)


def fewer_outputs(pair):
    """One output less on both sides."""
    a, b = pair.a.outputs, pair.b.outputs
    if type(a) is not type(b) or len(a) != len(b) or len(a) < 2:
        return
    for n in range(len(a)):
        sides = []
        for p in (pair.a, pair.b):
            p = p.copy()
            if isinstance(p.outputs, dict):
                key = sorted(p.outputs)[n]
                p.outputs = {k: v for k, v in p.outputs.items() if k != key}
            else:
                p.outputs = p.outputs[:n] + p.outputs[n + 1 :]
            sides.append(p)
        yield sides


def cut_values(pair):
    """A value that both sides compute becomes an input of both."""
    try:
        metas = [trace(p, values.draw(p, "ordinary", 0)) for p in (pair.a, pair.b)]
    except Broken:
        return
    common = [o for s in reversed(pair.a.stmts) for o in s.outs if not s.writes and o in metas[1]]
    for name in common:
        m, n = metas[0][name], metas[1][name]
        if (m.dtype, m.shape) != (n.dtype, n.shape):
            continue
        sides = []
        for p in (pair.a, pair.b):
            p = p.copy()
            if name not in p.used():
                break
            p.stmts = [s for s in p.stmts if s.outs != (name,)]
            if any(name in s.outs for s in p.stmts):
                break
            p.inputs = [*p.inputs, Input(name, m.dtype, m.shape)]
            sides.append(p)
        if len(sides) == 2:
            yield sides


def fewer_writes(pair):
    """A write, or a draw that nothing reads, less on both sides."""
    for s in pair.a.stmts:
        if not (s.writes or s.draws):
            continue
        sides = []
        for p in (pair.a, pair.b):
            p = p.copy()
            p.stmts = [t for t in p.stmts if (t.text, t.args, repr(t.lits)) != (s.text, s.args, repr(s.lits))]
            sides.append(p)
        yield sides
