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

# For all files of one model.
EXPORT_S = 600


def held_out(name):
    return hashlib.sha256(name.encode()).digest()[0] % 2 == 0


def has_twin(pair):
    """Whether the wrong twin of a pair is looked at, too: half of them, for the time that it takes."""
    return hashlib.sha256(pair.encode()).digest()[1] % 2 == 0


def sources(forms):
    """The cases by name, with what writes their files. Only what is asked for is imported: each kind needs packages of its own."""
    if not forms or forms != ["jax"]:
        from format_pairs import onnx_files, torch_models

        yield torch_models.models(), onnx_files
    if not forms or "jax" in forms:
        from format_pairs import jax_files, jax_mixing, jax_modules, jax_programs, jax_training

        for programs in (jax_programs, jax_training, jax_mixing, jax_modules):
            yield programs.programs(), jax_files


def export(folder, only, forms):
    import torch
    from exporting import quiet, silence

    quiet()
    torch.set_num_threads(1)
    folder.mkdir(parents=True, exist_ok=True)
    for cases, files in sources(forms):
        for name, case in cases.items():
            apart(name, folder, only, lambda: (silence(), files.write(name, case, folder))[1])


def apart(name, folder, only, write):
    """Writes the files of a model in a process of its own, and what failed beside them; of the held-out half only the number is printed."""
    record = folder / f"{name}.json"
    if record.exists() if not only else name not in only:
        return
    child = os.fork()
    if child == 0:
        signal.alarm(EXPORT_S)
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
        wrong = b.replace("equal.mlir", "wrong.mlir").replace(".onnx", ".wrong.onnx")
        for record in sorted(folder.glob("*.json")):
            name = record.stem
            yield f"{name}:{form}", "equal", f"{name}.{a}", f"{name}.{b}"
            if has_twin(f"{name}:{form}"):
                yield f"{name}:{form}", "wrong", f"{name}.{a}", f"{name}.{wrong}"


def check(folder, binary, part, only, forms):
    from checking import call

    counts = {}
    for pair, truth, a, b in pairs(folder):
        name, form = pair.split(":")
        if held_out(name) != part or only and name not in only or forms and form not in forms or not all((folder / file).exists() for file in (a, b)):
            continue
        bind = ["--bind", f"{name}.map"] if form == "jax" else []
        run = call(folder, binary, "check", a, b, *bind, "--no-cache", "--format", "json")
        verdict = json.loads(run.output)["verdict"] if run.status in (0, 1) else "not read" if run.status == 2 else "no answer"
        kind = counts.setdefault(("jax" if form == "jax" else "onnx", truth), {})
        kind[verdict] = kind.get(verdict, 0) + 1
        if not part:
            reason = "" if run.status in (0, 1) else run.error.strip().splitlines()[:1]
            print(f"{pair}  {truth}  {verdict}  {run.seconds:.2f} s  {reason}", flush=True)
    for (kind, truth), verdicts in sorted(counts.items()):
        print(f"{kind} {truth}: " + ", ".join(f"{number} {verdict}" for verdict, number in sorted(verdicts.items())))


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("command", choices=("export", "check"))
    parser.add_argument("folder", type=Path)
    parser.add_argument("binary", nargs="?", type=lambda path: str(Path(path).resolve()))
    parser.add_argument("--only", type=lambda text: text.split(","), help="names of models")
    parser.add_argument("--forms", type=lambda text: text.split(","), help="kinds of pairs: jax, dynamo, legacy, exporters, extended, basic, slim, sim, fused")
    parser.add_argument("--held-out", action="store_true", help="the half that nobody looks at while magneton-ir is worked on: only its counts are printed")
    args = parser.parse_args()
    if args.command == "export":
        export(args.folder, args.only, args.forms)
    elif args.binary:
        check(args.folder, args.binary, args.held_out, args.only, args.forms)
    else:
        parser.error("check needs the program")


if __name__ == "__main__":
    main()
