"""Asks the program under test for its verdict, and holds it to what its report promises."""

import contextlib
import json
import os
import signal
import subprocess
from dataclasses import dataclass, field

import numpy as np
import torch

# Of a processor, so that a busy machine makes no difference; and by the clock, for what waits for ever.
LIMIT_S = 10
CLOCK_S = 300
MEMORY_KIB = 4 << 20


@dataclass
class Answer:
    verdict: str = None
    tier: str = None
    assumptions: list = field(default_factory=list)
    # Why there is no verdict.
    trouble: str = None
    # The program said which node it does not take.
    refused: bool = False
    # It said that the outputs are of other types.
    other_types: bool = False
    report: dict = None


def call(binary, *args):
    command = ["/bin/sh", "-c", f'ulimit -t {LIMIT_S}; ulimit -v {MEMORY_KIB}; exec "$@"', "sh", binary, *args]
    return subprocess.run(command, capture_output=True, text=True, errors="replace", timeout=CLOCK_S)


def check(binary, a, b, *options):
    try:
        done = call(binary, "check", a, b, "--no-cache", "--format", "json", *options)
    except subprocess.TimeoutExpired:
        return Answer(trouble=f"no answer in {CLOCK_S} s")
    if done.returncode in (-signal.SIGXCPU, -signal.SIGKILL, 128 + signal.SIGXCPU, 128 + signal.SIGKILL):
        return Answer(trouble=f"no answer in {LIMIT_S} s of a processor")
    # The folder may have a name with these letters.
    if done.returncode == 2 and "node `" in done.stderr and " bug " not in done.stderr:
        return Answer(trouble=" ".join(done.stderr.split()), refused=True)
    if done.returncode == 2 and "prove::output" in done.stderr:
        return Answer(trouble=" ".join(done.stderr.split()), other_types=True)
    if done.returncode not in (0, 1):
        return Answer(trouble=f"exit {done.returncode}: {' '.join(done.stderr.split())[-600:]}")
    try:
        report = json.loads(done.stdout)
    except ValueError as error:
        return Answer(trouble=f"standard output is not JSON: {error}")
    broken = broken_promises(report, done.returncode, (a, b))
    if broken:
        return Answer(trouble=f"the report breaks its contract: {broken}", report=report)
    return Answer(report["verdict"], report.get("tier"), report["assumptions"], report=report)


def broken_promises(j, status, files):
    """What the report promises and does not keep; None if it keeps all."""
    if j.get("schema") != "magneton-ir/check/1":
        return "schema"
    verdict = j.get("verdict")
    if verdict not in ("equivalent", "different", "unknown"):
        return f"verdict {verdict}"
    if status != (0 if verdict == "equivalent" else 1):
        return f"exit status {status} for {verdict}"
    if verdict == "equivalent" and not str(j.get("tier")).startswith(("exact", "real", "rounding", "approx")):
        return f"tier {j.get('tier')}"
    if (j.get("witness") is not None) != (verdict == "different"):
        return "a witness exactly when different"
    for key in ("a", "b", "best", "regions", "unproven", "assumptions", "timing_ms"):
        if key not in j:
            return f"no key {key}"
    for side in "ab":
        names = [n for r in j["regions"] for n in r[f"{side}_ops"]]
        if len(names) != len(set(names)):
            return f"regions overlap on {side}"
        # Where the sides part is a region too, but not a proven one.
        names = [n for r in j["regions"] if r["tier"] != "none" for n in r[f"{side}_ops"]]
        if len(names) != j[side]["covered_ops"] or len(names) > j[side]["ops"]:
            return f"{side}: {len(names)} operators in regions, covered {j[side]['covered_ops']} of {j[side]['ops']}"
        if verdict == "equivalent" and j[side]["covered_ops"] != j[side]["ops"]:
            return f"{side}: equivalent, but {j[side]['covered_ops']} of {j[side]['ops']} covered"
    for r in j["regions"]:
        if r["best"]["form"] not in ("a", "b", "other"):
            return f"region {r['id']}: form"
        known = [r[s]["energy_mj"] for s in "ab" if r[s]["energy_mj"] is not None]
        best = r["best"]["energy_mj"]
        if best is not None and known and best > min(known) * (1 + 1e-9):
            return f"region {r['id']}: the best form costs more than a side"
    return None


def proof_holds(binary, proof, a, b):
    """Why the proof is not accepted; None if it is."""
    try:
        done = call(binary, "verify-proof", proof, a, b)
    except subprocess.TimeoutExpired:
        return "no answer"
    return None if done.returncode == 0 else f"exit {done.returncode}: {' '.join((done.stdout + done.stderr).split())[-400:]}"


def read_witness(folder, program):
    """Inputs and states of a witness, in the types of the program. What it leaves open is 0."""
    file = {}
    with contextlib.suppress(FileNotFoundError):
        file = np.load(os.path.join(folder, "inputs.npz"))

    def tensor(spec):
        if spec.name in file:
            data = file[spec.name]
        elif f"{spec.name}.shape" in file:
            data = np.zeros(int(np.prod(file[f"{spec.name}.shape"])), file[f"{spec.name}.values"].dtype)
            data[file[f"{spec.name}.places"]] = file[f"{spec.name}.values"]
        else:
            data = np.zeros(spec.shape)
        return torch.tensor(np.asarray(data)).to(spec.dtype).reshape(spec.shape)

    return {i.name: tensor(i) for i in program.inputs}, {s.name: tensor(s) for s in program.states if s.name in file or f"{s.name}.shape" in file}
