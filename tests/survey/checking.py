"""Asks the program under test about both forms of a model, and measures what it takes."""

import dataclasses
import json
import os
import re
import resource
import signal
import subprocess
import tempfile
import threading
import time

from exporting import FORMS

# What the survey asks for.
LIMIT_S = 20
LIMIT_MIB = 1024
# Where a run is ended: beyond the limits, so that the table says how far. Of a processor, and by the clock.
END_PROCESSOR_S = 60
END_S = 300
END_BYTES = 6 << 30

# One operator that is not in the table, as `lower` prints it.
OPAQUE = re.compile(r'= opaque "([^"]+)"')


@dataclasses.dataclass
class Run:
    status: int
    output: str
    error: str
    # By the clock.
    seconds: float
    # Of processors.
    processor_s: float
    mib: float
    # Why it was ended, if it was.
    ended: str = None


def call(folder, *command):
    """One process in `folder`: its time and peak memory are its own."""
    with tempfile.TemporaryFile() as output, tempfile.TemporaryFile() as error:
        started = time.monotonic()
        process = subprocess.Popen(command, cwd=folder, stdout=output, stderr=error, preexec_fn=limited)
        alarm = threading.Timer(END_S, process.kill)
        alarm.start()
        _, status, used = os.wait4(process.pid, 0)
        alarm.cancel()
        seconds = time.monotonic() - started
        process.returncode = os.waitstatus_to_exitcode(status)
        texts = []
        for file in (output, error):
            file.seek(0)
            texts.append(file.read().decode(errors="replace"))
    ended = None
    if seconds >= END_S:
        ended = f"no answer in {END_S} s"
    elif process.returncode == -signal.SIGXCPU:
        ended = f"no answer in {END_PROCESSOR_S} s of a processor"
    return Run(process.returncode, *texts, seconds, used.ru_utime + used.ru_stime, used.ru_maxrss / 1024, ended)


def limited():
    resource.setrlimit(resource.RLIMIT_AS, (END_BYTES, END_BYTES))
    resource.setrlimit(resource.RLIMIT_CPU, (END_PROCESSOR_S, END_PROCESSOR_S + 5))


def check(binary, name, library, folder):
    """What is known of one model, as plain data."""
    files = [f"{name}.{form}.pt2" for form in FORMS]
    record = {"model": name, "library": library}
    record["read"] = {form: read(binary, folder, file) for form, file in zip(FORMS, files)}
    run = call(folder, binary, "check", *files, "--no-cache", "--format", "json")
    record.update(seconds=round(run.seconds, 2), processor_seconds=round(run.processor_s, 2), mib=round(run.mib))
    if run.ended or run.status not in (0, 1):
        read_both = all(form["read"] for form in record["read"].values())
        verdict = "none" if run.ended or read_both else "not read"
        return {**record, "verdict": verdict, "tier": None, "message": run.ended or message(run), "unproven": []}
    report = json.loads(run.output)
    record.update(verdict=report["verdict"], tier=report["tier"], message=None)
    record["ops"] = [report[side]["ops"] for side in "ab"]
    record["covered"] = [report[side]["covered_ops"] for side in "ab"]
    record["assumptions"] = report["assumptions"]
    record["rejected"] = report["rejected"]
    record["unproven"] = report["unproven"]
    record["witness"] = report["witness"]
    return record


def read(binary, folder, file):
    """Whether one form is read, and the operators of it that are opaque, with how often they occur."""
    run = call(folder, binary, "lower", file)
    if run.ended or run.status != 0:
        return {"read": False, "message": run.ended or message(run), "opaque": {}}
    opaque = {}
    for operator in OPAQUE.findall(run.output):
        opaque[operator] = opaque.get(operator, 0) + 1
    return {"read": True, "message": None, "opaque": opaque}


def message(run):
    """What the program says on standard error, on one line, without the file's name."""
    text = " ".join(re.sub(r"[│╭╰├─×▶]+", " ", run.error).split())
    # The report is wrapped: file names have hyphens, and lines end at them.
    text = re.sub(r"^(\S+ )?\S*(- \S+)*\.pt2: ", "", text)[:700]
    return text if run.status == 2 else f"exit {run.status}: {text}"
