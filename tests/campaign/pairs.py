"""Pairs of a program with a variant or an edit of itself."""

import random
from dataclasses import dataclass

import torch

import inputs as values
from edits import EDITS
from generate import generate
from identities import forms
from program import FLOATS, INTS, Broken, Input, Program, Ref, Stmt, trace
from run import PER_PROGRAM
from variants import VARIANTS

FORMS = forms()
# Every so many programs is none, but a form of an identity.
IDENTITIES_EVERY = 6

@dataclass
class Pair:
    a: Program
    b: Program
    # How B came from A, and the tier at which they are equal by construction; None for an edit.
    how: str
    claim: str = None
    # B is exported with its operators decomposed.
    decomposed: bool = False

    def draws(self):
        return any(s.draws for p in (self.a, self.b) for s in p.stmts)


def changed(program, metas, rng, kinds):
    """The program after one of `kinds`, with the kind."""
    for _ in range(12):
        kind = rng.choices(kinds, [k[0] for k in kinds])[0]
        try:
            new = kind[-1](program, metas, rng)
            if new is None:
                continue
            return new, trace(new, values.draw(new, "ordinary", 0)), kind
        except Broken:
            continue
    return None


def equal_pair(program, metas, rng):
    new, claim, how = program, "exact", []
    for _ in range(rng.choice((1, 1, 2, 3))):
        made = changed(new, metas, rng, VARIANTS)
        if made is None:
            break
        new, metas, (_, tier, make) = made
        how.append(make.__name__)
        claim = "real" if tier == "real" else claim
    # What decompositions draw is up to PyTorch.
    decomposed = rng.random() < 0.1 and not any(s.draws for s in program.stmts)
    if decomposed:
        how.append("decomposed")
        claim = "real"
    return Pair(program, new, " + ".join(how), claim, decomposed) if how else None


def edited_pair(program, metas, rng):
    made = changed(program, metas, rng, EDITS)
    if made is None:
        return None
    new, metas, (_, make) = made
    how = make.__name__
    # Some edits hide behind a change that alone would be none.
    if rng.random() < 0.3:
        more = changed(new, metas, rng, VARIANTS)
        if more is not None:
            new, how = more[0], f"{how} + {more[2][-1].__name__}"
    return Pair(program, new, how)


def form(text, dtype, shape):
    """A form of an identity as a program, and its type; None if PyTorch has no such operator for the type."""
    inputs = [Input(name, dtype, shape) for name in ("x0", "x1")]
    stmt = Stmt(("v1",), text, ("x0", "x1"), {"d": dtype}, "identity")
    program = Program(inputs, [], [stmt], (Ref("v1"),))
    try:
        m = trace(program, values.draw(program, "ordinary", 0))["v1"]
    except Broken:
        return None
    return program, (m.dtype, m.shape)


def identity_pairs(rng):
    """One form of an identity against others."""
    dtype = rng.choice((torch.float32, *FLOATS, torch.int64, *INTS, torch.bool))
    shape = rng.choice(((2, 3), (3, 3), (1, 4), (2, 1), (2, 2, 3), (0, 3)))
    found = [f for f in (form(text, dtype, shape) for text in rng.choice(FORMS)) if f]
    if not found:
        return []
    base, kind = found[0] if rng.random() < 0.5 else rng.choice(found)
    others = [p for p, k in found if k == kind and p is not base]
    return [Pair(base, p, "identity") for p in rng.sample(others, min(PER_PROGRAM, len(others)))]


def pairs_of(seed, number):
    """The pairs of program `number`: as many variants as edits, or forms of an identity."""
    if number % IDENTITIES_EVERY == IDENTITIES_EVERY - 1:
        return identity_pairs(random.Random(f"{seed}/{number}"))
    program = generate(f"{seed}/{number}")
    if program is None:
        return []
    try:
        metas = trace(program, values.draw(program, "ordinary", 0))
    except Broken:
        return []
    made = []
    for n in range(PER_PROGRAM):
        rng = random.Random(f"{seed}/{number}/{n}")
        made.append((equal_pair if n % 2 == 0 else edited_pair)(program, metas, rng))
    return made
