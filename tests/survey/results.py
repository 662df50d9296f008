"""The results of a run of `check`, one file for each part of the list."""

import hashlib
import json
import subprocess
import time
from pathlib import Path

PARTS = ("development", "held-out")


def file(folder, part):
    return folder / f"results.{part}.json"


def load(folder, part):
    """The results of one part, None where there was no run."""
    path = file(folder, part)
    return json.loads(path.read_text()) if path.exists() else None


def exports(folder, part):
    """What `export` recorded of each model."""
    records = [json.loads(path.read_text()) for path in sorted((folder / part).glob("*.json"))]
    return {record["name"]: record for record in records}


def check_all(folder, part, binary, only):
    """Checks every model that was exported, or some of them. Results of the same program stay, unless they are asked for."""
    from checking import check

    exported = {name: record for name, record in exports(folder, part).items() if not record["error"]}
    unknown = set(only) - set(exported)
    if unknown:
        raise SystemExit(f"no exports of: {', '.join(sorted(unknown))}")
    version = subprocess.run([binary, "--version"], capture_output=True, text=True, check=True).stdout.strip()
    checksum = hashlib.sha256(Path(binary).read_bytes()).hexdigest()
    before = load(folder, part)
    models = {m["model"]: m for m in before["models"]} if before and before["checksum"] == checksum else {}
    names = only or sorted(set(exported) - set(models), key=lambda name: hashlib.sha256(name.encode()).digest())
    for number, name in enumerate(names, 1):
        record = check(binary, name, exported[name]["library"], folder / part)
        models[name] = record
        print(f"{number} of {len(names)}  {name}  {record['verdict']} {record['tier'] or ''}  "
              f"{record['seconds']} s  {record['mib']} MiB", flush=True)
        write(folder, part, version, checksum, models)


def write(folder, part, version, checksum, models):
    results = {"program": version, "checksum": checksum, "date": time.strftime("%Y-%m-%d"), "models": list(models.values())}
    file(folder, part).write_text(json.dumps(results, indent=1) + "\n")
