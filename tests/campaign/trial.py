"""One program and its pairs: export, ask, judge."""

import collections
import contextlib
import io
import logging
import os
import shutil
import signal
import sys
import tempfile
import traceback
import warnings

import torch

import checker
import inputs as values
from judge import Judge
from pairs import Pair, pairs_of
from program import module, paths, source
from shrink import shrunk

warnings.simplefilter("ignore")
torch.set_num_threads(1)
# A processor's fused kernel leaves out keys that are NaN; the formula, and a GPU, do not.
torch.backends.cuda.enable_flash_sdp(False)
# PyTorch logs what it refuses to export.
torch._logging.set_logs(all=logging.CRITICAL)


# A pair takes a second or two.
JUDGED_S = 120


class NotExported(Exception):
    pass


def export(program, path, decomposed=False):
    given = tuple(values.draw(program, "ordinary", 0)[i.name] for i in program.inputs)
    try:
        with contextlib.redirect_stderr(io.StringIO()), contextlib.redirect_stdout(io.StringIO()):
            exported = torch.export.export(module(program), given, strict=False)
            if decomposed:
                exported = exported.run_decompositions()
                if not keeps_types(exported, module(program)(*given)):
                    raise NotExported("the decomposition returns other types")
            torch.export.save(exported, path)
    except Exception as error:
        raise NotExported(str(error)) from error


def keeps_types(exported, result):
    """Whether a decomposed program returns what it returned before: the broadcast of a write gets lost in some."""
    wanted = sorted(str(tuple(leaf.shape)) for _, leaf in paths(result) if isinstance(leaf, torch.Tensor))
    nodes = {n.name: n for n in exported.graph.nodes}
    names = [n for n in exported.graph_signature.user_outputs if isinstance(n, str) and n in nodes]
    return wanted == sorted(str(tuple(nodes[n].meta["val"].shape)) for n in names)


def judged(binary, pair, folder, a=None):
    """The class of what is wrong with the verdict on a pair and why; (None, verdict) if nothing is."""
    a_path = a or os.path.join(folder, "a.pt2")
    b_path = os.path.join(folder, "b.pt2")
    if a is None:
        export(pair.a, a_path)
    export(pair.b, b_path, pair.decomposed)
    proof, witness = os.path.join(folder, "proof"), os.path.join(folder, "witness")
    shutil.rmtree(witness, ignore_errors=True)
    answer = checker.check(binary, a_path, b_path, "--proof", proof, "--write-witness", witness)
    judge = Judge(pair.a, pair.b, pair.draws())
    if answer.other_types and judge.other_structure():
        return (None, "outputs of other types")
    if answer.trouble:
        return ("refused" if answer.refused else "no verdict", answer.trouble)
    if answer.verdict == "equivalent":
        if answer.tier == "exact":
            found = judge.against_exact(one_nan=any("NaN" in text for text in answer.assumptions))
        else:
            stated = any("range" in text for text in answer.assumptions)
            found = judge.against_real(ranges=answer.tier == "rounding" and not stated)
        if found:
            return ("false equivalence", f"{answer.tier}: {found}")
        refused = checker.proof_holds(binary, proof, a_path, b_path)
        if refused:
            return ("proof not accepted", refused)
    if answer.verdict == "different":
        found = judge.other_structure() or ("a draw" if pair.draws() else judge.witness(*checker.read_witness(witness, pair.a)))
        # Of numbers that are not finite, `real` says nothing.
        beyond = pair.claim == "real" and found and ("nan" in found or "inf" in found)
        if pair.claim and not beyond:
            return ("false difference", f"equal by construction ({pair.claim}); libtorch: {judge.difference()}; on the witness: {found}")
        if not found:
            return ("false difference", f"the witness shows none; libtorch: {judge.difference()}")
    turned = checker.check(binary, b_path, a_path)
    if turned.verdict != answer.verdict:
        return ("order matters", f"{answer.verdict} {answer.tier}, turned around {turned.verdict} {turned.tier} {turned.trouble or ''}")
    if answer.tier != turned.tier:
        return (None, f"{answer.verdict} {answer.tier}, turned around {turned.tier}")
    return (None, f"{answer.verdict} {answer.tier or ''}".strip())


def itself(binary, program, folder):
    path = os.path.join(folder, "a.pt2")
    export(program, path)
    answer = checker.check(binary, path, path)
    if answer.trouble:
        return ("refused" if answer.refused else "no verdict", answer.trouble)
    if answer.verdict == "unknown" and any(s.draws for s in program.stmts):
        return (None, "itself, with draws, unknown")
    if answer.verdict == "equivalent" and answer.tier != "exact" and any(s.draws for s in program.stmts):
        # Over the real numbers a result may not depend on what is drawn: a softmax of one element is 1.
        found = Judge(program, program, True).draws_matter()
        return ("not equal to itself", f"{answer.tier}: {found}") if found else (None, f"itself, whatever is drawn, {answer.tier}")
    if (answer.verdict, answer.tier) != ("equivalent", "exact"):
        return ("not equal to itself", f"{answer.verdict} {answer.tier}")
    return (None, "itself")


def shown(kind, why, where, pair):
    text = f"\n=== {kind}: pair {where}, {pair.how}{' (B decomposed)' if pair.decomposed else ''}\n{why}\n--- A\n{source(pair.a)}"
    return text if pair.a is pair.b else f"{text}--- B\n{source(pair.b)}"


class NoEnd(BaseException):
    """A run of PyTorch that takes too long; nothing else catches it."""


@contextlib.contextmanager
def at_most(seconds):
    def stop(*_):
        raise NoEnd

    before = signal.signal(signal.SIGALRM, stop)
    signal.alarm(seconds)
    try:
        yield
    finally:
        signal.alarm(0)
        signal.signal(signal.SIGALRM, before)


def programs(args, numbers, wanted=None):
    """Counts and finds of some programs."""
    counts, finds = collections.Counter(), []
    with tempfile.TemporaryDirectory() as folder:
        for number in numbers:
            one_program(args, number, wanted, folder, counts, finds)
    return counts, finds


def one_program(args, number, wanted, folder, counts, finds):
    made = pairs_of(args.seed, number)
    if not made:
        counts["no program"] += 1
        return
    base = next((p.a for p in made if p), None)
    if base is None:
        counts["no pair"] += 1
        return
    a_path = os.path.join(folder, "a.pt2")
    try:
        kind, why = itself(args.binary, base, folder)
    except NotExported:
        counts["not exported"] += 1
        return
    counts[f"program: {kind or why}"] += 1
    if kind:
        report(args, kind, why, f"{number}", Pair(base, base, "itself"), folder, counts, finds)
        return
    for n, pair in enumerate(made):
        if pair is None or (wanted is not None and n != wanted):
            continue
        told_apart = None
        group = "variant, folded" if "folded" in pair.how else "variant" if pair.claim else "edit"
        try:
            with at_most(JUDGED_S):
                kind, why = judged(args.binary, pair, folder, a_path)
                if not pair.claim and kind is None:
                    told_apart = Judge(pair.a, pair.b, pair.draws()).difference()
                    group = "edit, different" if told_apart else "edit, equal"
        except NotExported:
            counts["not exported"] += 1
            continue
        except NoEnd:
            counts["not judged: PyTorch came to no end"] += 1
            print(f"not judged: pair {number}.{n}\n{traceback.format_exc()}", file=sys.stderr, flush=True)
            continue
        counts[f"{group}: {kind or why}"] += 1
        if args.missed and told_apart and why == "unknown":
            print(shown("missed", told_apart, f"{number}.{n}", pair), flush=True)
        if kind:
            report(args, kind, why, f"{number}.{n}", pair, folder, counts, finds)


def report(args, kind, why, where, pair, folder, counts, finds):
    if kind == "refused":
        return
    inner = os.path.join(folder, "shrink")
    os.makedirs(inner, exist_ok=True)
    if not args.no_shrink:
        if pair.a is pair.b:
            test = lambda p: itself(args.binary, p.a, inner)
        else:
            test = lambda p: judged(args.binary, p, inner)
        pair, why = shrunk(pair, kind, why, test)
    finds.append(shown(kind, why, where, pair))
    if args.out:
        kept = os.path.join(args.out, f"{kind.replace(' ', '-')}-{where}")
        os.makedirs(kept, exist_ok=True)
        with contextlib.suppress(NotExported):
            export(pair.a, os.path.join(kept, "a.pt2"))
            export(pair.b, os.path.join(kept, "b.pt2"), pair.decomposed)
        with open(os.path.join(kept, "pair.txt"), "w") as file:
            file.write(finds[-1])
