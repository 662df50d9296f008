"""Exports models of the lists, in both forms, each in a process of its own."""

import io
import json
import logging
import os
import resource
import signal
import sys
import time
import traceback
import warnings
import zipfile

FORMS = ("default", "decomposed")
LIMIT_S = 420
MEMORY_BYTES = 14 << 30


def export_all(entries, folder, again=False):
    """Writes `NAME.default.pt2`, `NAME.decomposed.pt2` and `NAME.json` of every entry; what is there already stays."""
    folder.mkdir(parents=True, exist_ok=True)
    # In the order of checksums, so that what is there after a while is of every kind.
    entries = sorted((e for e in entries if again or not (folder / f"{e.name}.json").exists()), key=lambda e: e.checksum)
    quiet()
    for library in installed():
        __import__(library)
    for number, entry in enumerate(entries, 1):
        started = time.time()
        record = apart(entry, folder)
        record.update(library=entry.library, seconds=round(time.time() - started, 1))
        (folder / f"{entry.name}.json").write_text(json.dumps(record, indent=1) + "\n")
        print(f"{number} of {len(entries)}  {entry.name}  {record['seconds']} s  {record.get('error') or record['device']}", flush=True)


def quiet():
    warnings.filterwarnings("ignore")
    logging.disable(logging.WARNING)
    os.environ.update(HF_HUB_OFFLINE="1", OMP_NUM_THREADS="1", TRANSFORMERS_VERBOSITY="error")


def apart(entry, folder):
    """The record of one entry."""
    return apart_with(lambda: export(entry, folder), entry.name)


def apart_with(work, name):
    """What `work` gives in a process of its own. A fork: the libraries are loaded once, and what a model does to them goes with it."""
    reader, writer = os.pipe()
    child = os.fork()
    if child == 0:
        os.close(reader)
        silence()
        resource.setrlimit(resource.RLIMIT_AS, (MEMORY_BYTES, MEMORY_BYTES))
        signal.alarm(LIMIT_S)
        try:
            record = work()
        except BaseException as error:
            record = {"name": name, "error": reason(error), "trace": traceback.format_exc()[-3000:]}
        os.write(writer, json.dumps(record).encode())
        os._exit(0)
    os.close(writer)
    with open(reader, "rb") as pipe:
        answer = pipe.read()
    _, status = os.waitpid(child, 0)
    if answer:
        return json.loads(answer)
    return {"name": name, "error": f"no answer in {LIMIT_S} s" if os.WTERMSIG(status) == signal.SIGALRM else f"ended by signal {os.WTERMSIG(status)}"}


def silence():
    nothing = os.open(os.devnull, os.O_WRONLY)
    os.dup2(nothing, 1)
    os.dup2(nothing, 2)


def reason(error):
    """The first lines of what an exception says."""
    lines = [line.strip() for line in str(error).splitlines() if line.strip()]
    return f"{type(error).__name__}: {' '.join(lines)[:300]}"


def export(entry, folder):
    """On the meta device; a model that asks tensors for numbers while it is made is made of fake tensors of the processor."""
    import torch

    errors = []
    for device, place in (("meta", on_meta), ("cpu, fake", faked)):
        try:
            with place():
                program = exported(entry)
                archives = [archive(program)]
                program = program.run_decompositions()
                archives.append(archive(program))
        except Exception as error:
            errors.append(f"{device}: {reason(error)}")
            trace = traceback.format_exc()[-3000:]
            continue
        for form, data in zip(FORMS, archives):
            (folder / f"{entry.name}.{form}.pt2").write_bytes(data)
        return {"name": entry.name, "device": device, "versions": versions(), "error": None}
    return {"name": entry.name, "error": " | ".join(errors), "trace": trace}


def on_meta():
    import torch

    return torch.device("meta")


def faked():
    from torch._subclasses import FakeTensorMode

    return FakeTensorMode(allow_non_fake_inputs=True)


def exported(entry):
    import torch

    torch.manual_seed(0)
    default = torch.get_default_dtype()
    torch.set_default_dtype(getattr(torch, entry.dtype))
    try:
        model, args, kwargs = entry.make()
    finally:
        torch.set_default_dtype(default)
    if not entry.name.endswith("-training"):
        model = model.eval()
    with torch.no_grad():
        return torch.export.export(model, tuple(args), kwargs, strict=False)


def archive(program):
    """A program as a file without weights."""
    import torch

    buffer = io.BytesIO()
    torch.export.save(program, buffer)
    return packed(buffer.getvalue())


def packed(data):
    """The archive with its members deflated and paths of sources shortened."""
    out = io.BytesIO()
    with zipfile.ZipFile(io.BytesIO(data)) as source, zipfile.ZipFile(out, "w") as target:
        for name in source.namelist():
            member = source.read(name)
            if name.endswith(".json"):
                for folder in sorted(filter(None, sys.path), key=len, reverse=True):
                    member = member.replace(f"{folder}/".encode(), b"site-packages/")
            info = zipfile.ZipInfo(name, (1980, 1, 1, 0, 0, 0))
            info.compress_type = zipfile.ZIP_DEFLATED
            target.writestr(info, member, compresslevel=6)
    return out.getvalue()


def versions():
    from importlib.metadata import version

    return {library: version(library).split("+")[0] for library in installed()}


def installed():
    """Most lists need PyTorch and one of the libraries: what is missing is missed where it is used."""
    from importlib.util import find_spec

    return [library for library in ("torch", "transformers", "timm", "diffusers", "torchvision") if find_spec(library)]
