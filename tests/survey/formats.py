#!/usr/bin/env python3
"""One model in two formats: PyTorch against ONNX, ONNX before and after optimisers, JAX against PyTorch.

    nice -n 10 python3 tests/survey/formats.py export FOLDER
    python3 tests/survey/formats.py check FOLDER target/debug/magneton-ir [--held-out]

Each pair should be `equivalent`; its twin with a single mistake should be `different`, and never `equivalent`.
A checksum of the model's name decides which half is held out."""

import argparse
import hashlib
import json
import os
import signal
from pathlib import Path


def held_out(name):
    return hashlib.sha256(name.encode()).digest()[0] % 2 == 0


def has_twin(pair):
    """Whether the wrong twin of a pair is looked at, too: half of them, for the time that it takes."""
    return hashlib.sha256(pair.encode()).digest()[1] % 2 == 0


def export(folder, only):
    import torch
    from exporting import quiet, silence
    from format_pairs import onnx_files, torch_models

    quiet()
    torch.set_num_threads(1)
    folder.mkdir(parents=True, exist_ok=True)
    for name, case in torch_models.models().items():
        apart(name, folder, only, lambda: (silence(), onnx_files.write(name, case, folder))[1])
    from format_pairs import jax_files, jax_programs

    for name, case in jax_programs.programs().items():
        apart(name, folder, only, lambda: jax_files.write(name, case, folder))


def apart(name, folder, only, write):
    """Writes the files of a model in a process of its own; what failed is kept beside them. Of the held-out half only how much failed is printed."""
    record = folder / f"{name}.json"
    if record.exists() if not only else name not in only:
        return
    child = os.fork()
    if child == 0:
        signal.alarm(600)
        try:
            failed = write()
        except BaseException as error:
            failed = {"all": f"{type(error).__name__}: {str(error)[:300]}"}
        record.write_text(json.dumps(failed, indent=1) + "\n")
        os._exit(0)
    os.waitpid(child, 0)
    failed = json.loads(record.read_text()) if record.exists() else {"all": "ended"}
    print(name, f"{len(failed)} failed" if held_out(name) else failed, flush=True)


def pairs(folder):
    """Name of a pair, its truth, and both files."""
    from format_pairs.onnx_files import PAIRS

    forms = {"jax": ("program.pt2", "equal.mlir"), **PAIRS}
    for form, (a, b) in forms.items():
        for record in sorted(folder.glob("*.json")):
            name = record.stem
            yield f"{name}:{form}", "equal", f"{name}.{a}", f"{name}.{b}"
            if has_twin(f"{name}:{form}"):
                yield f"{name}:{form}", "wrong", f"{name}.{a}", f"{name}.{b.replace('equal.mlir', 'wrong.mlir').replace('.onnx', '.wrong.onnx')}"


def check(folder, binary, part, only):
    from checking import call

    counts, results = {}, {}
    for name, truth, a, b in pairs(folder):
        if held_out(name.split(":")[0]) != part or not all((folder / file).exists() for file in (a, b)) or only and name.split(":")[0] not in only:
            continue
        binding = folder / f"{name.split(':')[0]}.map"
        bind = ["--bind", binding.name] if b.endswith(".mlir") and binding.exists() else []
        run = call(folder, binary, "check", a, b, *bind, "--no-cache", "--format", "json")
        verdict = json.loads(run.output)["verdict"] if run.status in (0, 1) else "not read" if run.status == 2 else "no answer"
        kind = "jax" if b.endswith(".mlir") else "onnx"
        counts.setdefault((kind, truth), {}).setdefault(verdict, []).append(name)
        results[f"{name} {truth}"] = verdict
        if not part:
            reason = run.error.strip().splitlines()[:2] if run.status not in (0, 1) else ""
            print(f"{name}  {truth}  {verdict}  {run.seconds:.2f} s  {reason or ''}", flush=True)
    for (kind, truth), verdicts in sorted(counts.items()):
        print(f"{kind} {truth}: " + ", ".join(f"{len(names)} {verdict}" for verdict, names in sorted(verdicts.items())))
    return results


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("command", choices=("export", "check"))
    parser.add_argument("folder", type=Path)
    parser.add_argument("binary", nargs="?", type=lambda path: str(Path(path).resolve()))
    parser.add_argument("--only", type=lambda text: text.split(","), help="names of models")
    parser.add_argument("--held-out", action="store_true", help="the half that nobody looks at while magneton-ir is worked on: only its counts are printed")
    args = parser.parse_args()
    if args.command == "export":
        export(args.folder, args.only)
    elif args.binary:
        check(args.folder, args.binary, args.held_out, args.only)
    else:
        parser.error("check needs the program")


if __name__ == "__main__":
    main()
