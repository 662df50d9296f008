"""`optimize`."""

from __future__ import annotations

import json
import os
import warnings
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from ._binary import run
from ._check import Files, absolute, flags_of, prepared, rule_options, work_folder
from ._progress import Progress
from ._write import write

if TYPE_CHECKING:
    import torch

    from ._program import Prepared, Workload


@dataclass(frozen=True)
class Finding:
    """A cheaper form of a part of the workload."""

    #: Names of the graph nodes that it replaces, once for every place where it stands.
    ops: tuple[tuple[str, ...], ...]
    #: Operators of the IR that it replaces.
    before: tuple[str, ...]
    #: The cheaper form in the first place, in operators of the IR.
    to: str
    #: What it saves in one place, beyond doubt.
    saves_mj: float
    saves_us: float
    tier: str
    #: The rules of the proof.
    rules: tuple[str, ...]
    #: The line of the first place, as `file:line code`.
    source: str | None

    @property
    def total_mj(self) -> float:
        """What it saves in all places."""
        return self.saves_mj * len(self.ops)


@dataclass(frozen=True)
class Findings(Sequence[Finding]):
    """What was found, most saved first. `str()` of it is the report for a person."""

    all: tuple[Finding, ...]
    #: What the proofs rest on.
    assumptions: tuple[str, ...]
    report: str

    def __getitem__(self, index: Any) -> Any:
        return self.all[index]

    def __len__(self) -> int:
        return len(self.all)

    def __str__(self) -> str:
        return self.report

    @classmethod
    def of(cls, report: str, data: Mapping[str, Any], assumptions: tuple[str, ...]) -> Findings:
        """What the JSON report `magneton-ir/optimize/1` says."""
        found = tuple(
            Finding(
                ops=tuple(tuple(names) for names in item["ops"]),
                before=tuple(item["from"]),
                to=item["to"],
                saves_mj=item["saves_mj"],
                saves_us=item["saves_us"],
                tier=item["tier"],
                rules=tuple(dict.fromkeys(step["rule"] for step in item["steps"])),
                source=item["source"],
            )
            for item in data["cheaper"]
        )
        return cls(found, (*data["assumptions"], *assumptions), report)


def optimize(
    model: Workload,
    args: Sequence[Any] = (),
    kwargs: Mapping[str, Any] | None = None,
    *,
    tier: str = "rounding",
    rules: Files = (),
    profile: str | os.PathLike[str] | None = None,
    dynamic_shapes: Any = None,
    config: Mapping[str, Any] | None = None,
    frozen: bool = True,
    cache: bool = True,
) -> tuple[torch.export.ExportedProgram, Findings]:
    """The workload with all cheaper forms in place that the rules can prove, as a program that runs.

    Args:
        model: As for `check`.
        args: As for `check`.
        kwargs: As for `check`.
        tier: The weakest tier that a proof may use.
        rules: Files with rules of your own.
        profile: A file with measured energies.
        dynamic_shapes: As for `check`: the program that comes back is for the sizes of `args`.
        config: Math flags, such as `{"allow_tf32": True}`.
        frozen: Whether parameters stay as they are from one execution to the next, so that what depends on them alone may be computed once
            and be a buffer of the program. They are not taken to in a model that trains.
        cache: As for `check`.

    Returns:
        The program, with the weights of the model, and what was replaced.

    Raises:
        Error: Bad input or bad usage.
        BinaryError: The command is missing, or does not fit this package.
    """
    import torch

    from ._interpreter import lock

    side = prepared(model, args, kwargs, dynamic_shapes)
    with work_folder(None) as folder:
        path = write(side, "a", folder)
        options = ["optimize", str(path), "--tier", tier, "--frozen", "yes" if frozen else "no", *rule_options(rules), *([] if cache else ["--no-cache"])]
        options += ["--profile", absolute(profile)] if profile is not None else []
        options += [part for flag in flags_of(config) for part in ("--config", flag)]
        answer = run([*options, "-o", "lean.pt2", "--write-json", "report.json"], folder, "looking for cheaper forms")
        data = json.loads((folder / "report.json").read_text())
        with Progress("reading the program"), warnings.catch_warnings():
            # The weights of the archive are read-only, and are not kept where the model has them.
            warnings.filterwarnings("ignore", message="The given buffer is not writable")
            with lock:
                program = torch.export.load(folder / "lean.pt2")
            _share_weights(side, program)
    return program, Findings.of(answer.output, data, side.assumptions)


def _share_weights(side: Prepared, lean: torch.export.ExportedProgram) -> None:
    """Puts the model's own tensors into the program where it holds the same values, so that there is one copy of them."""
    import torch

    for name, own in (side.program.state_dict if side.program is not None else {}).items():
        copied = lean.state_dict.get(name)
        if copied is not None and copied.shape == own.shape and copied.dtype == own.dtype and torch.equal(copied, own):
            lean.state_dict[name] = own
