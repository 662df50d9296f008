"""`check` and `assert_equivalent`."""

from __future__ import annotations

import json
import os
import tempfile
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Union

from ._binary import run
from ._errors import BinaryError, Error
from ._program import Prepared, prepare
from ._progress import Progress
from ._result import CheckResult
from ._write import sources, write

if TYPE_CHECKING:
    from ._program import Workload

#: A file, or several.
Files = Union[str, "os.PathLike[str]", Sequence[Union[str, "os.PathLike[str]"]]]


def check(
    a: Workload,
    b: Workload,
    args: Sequence[Any] = (),
    kwargs: Mapping[str, Any] | None = None,
    *,
    tier: str = "rounding",
    bind: Mapping[str, str] | str | os.PathLike[str] | None = None,
    rules: Files = (),
    profile: str | os.PathLike[str] | None = None,
    dynamic_shapes: Any = None,
    config_a: Mapping[str, Any] | None = None,
    config_b: Mapping[str, Any] | None = None,
    shapes: Mapping[str, int] | None = None,
    seed: int = 0,
    cache: bool = True,
    keep: str | os.PathLike[str] | None = None,
) -> CheckResult:
    """Compares two workloads: are they equal, where does the energy go, what is the cheapest equivalent, and why.

    Nothing is run: modules and functions are exported with `torch.export` (or recorded, where that does not take them), and the
    command `magneton-ir` compares the graphs.

    Args:
        a: A module, a function or method of tensors, a jitted JAX function, an `ExportedProgram`, a `Recording`, or the path of
            a `.pt2`, `.onnx`, `.mir` or StableHLO file.
        b: The other workload, of any kind.
        args: The arguments that modules and functions are called with: real, fake or meta tensors, of the shapes and types that
            count. Contents do not matter.
        kwargs: Arguments by name.
        tier: The weakest tier that a proof may use: "exact", "real", "rounding", "approx" or "approx(ERROR)".
        bind: Which inputs are made of others, where names do not tell: `{"qkv.weight": "concat(q.weight, k.weight; dim=0)"}`, or
            a file with such lines.
        rules: Files with rules of your own.
        profile: A file with measured energies in place of those that the command carries.
        dynamic_shapes: Passed to `torch.export`, so that the program has to be good for all sizes. It is compared at the sizes
            of `args`; the assumptions say so.
        config_a: Math flags of A, such as `{"allow_tf32": True}`. What is left out is as in this process, or as the file says.
        config_b: Math flags of B.
        shapes: Values of the symbolic sizes of ONNX models.
        seed: Chooses the inputs on which a difference is looked for.
        cache: Whether to use and keep what searches came to in earlier runs.
        keep: A folder in which the exported graphs stay, for `magneton-ir explain`.

    Returns:
        The verdict with all figures: energies in millijoules and times in microseconds, for one execution.

    Raises:
        Error: Bad input or bad usage. A pair that is not proven equal is no error.
        BinaryError: The command is missing, or ended as it should not.
    """
    side_a, side_b = (prepared(workload, args, kwargs, dynamic_shapes) for workload in (a, b))
    with work_folder(keep) as folder:
        written = Written.of(side_a, side_b, folder)
        options = [
            "check", *map(str, written.paths), "--tier", tier, "--seed", str(seed), "--write-json", "report.json",
            *rule_options(rules), *_bind(bind, folder), *([] if cache else ["--no-cache"]),
            *(["--profile", absolute(profile)] if profile is not None else []),
        ]  # fmt: skip
        options += [part for name, size in (shapes or {}).items() for part in ("--shape", f"{name}={size}")]
        for letter, config in (("a", config_a), ("b", config_b)):
            options += [part for flag in flags_of(config) for part in (f"--config-{letter}", flag)]
        answer = run(options, folder, "comparing")
        try:
            text = (folder / "report.json").read_text()
        except OSError as error:
            raise BinaryError(f"the command left no report: {answer.notes or error}") from error
        return CheckResult.of_json(
            text,
            assumptions=(*written.notes, *(f"{letter}: {note}" for letter, side in zip("AB", (side_a, side_b)) for note in side.assumptions)),
            environment={"a": side_a.environment, "b": side_b.environment},
            report=_report(answer.output, keep is None and not written.are_own, written.notes, side_a, side_b),
            sources={"a": sources(side_a), "b": sources(side_b)},
        )


def assert_equivalent(a: Workload, b: Workload, args: Sequence[Any] = (), kwargs: Mapping[str, Any] | None = None, **options: Any) -> CheckResult:
    """Does nothing if the two are proven equal, for use in tests. Takes what `check` takes, and gives what it gives.

    Raises:
        AssertionError: They are not proven equal. The text is the report, with the source lines to look at.
    """
    __tracebackhide__ = True
    result = check(a, b, args, kwargs, **options)
    if not result.equivalent:
        raise AssertionError("\n".join([str(result).rstrip(), *_places(result)]))
    return result


def prepared(workload: Workload, args: Sequence[Any], kwargs: Mapping[str, Any] | None, dynamic_shapes: Any) -> Prepared:
    label = type(workload).__name__
    with Progress(f"exporting {label}"):
        return prepare(workload, label, args, kwargs, dynamic_shapes)


@dataclass(frozen=True)
class Written:
    """Both sides as files."""

    paths: tuple[Path, Path]
    #: Whether all are files of the caller.
    are_own: bool
    notes: tuple[str, ...]

    @classmethod
    def of(cls, a: Prepared, b: Prepared, folder: Path) -> Written:
        same: set[str] = set()
        if a.program is not None and b.program is not None:
            from ._weights import same_weights

            same = same_weights(a.program, b.program)
        with Progress("writing the graphs"):
            paths = write(a, "a", folder, same), write(b, "b", folder, same)
        notes = (f"{len(same)} large weights were compared in memory: those of one name hold the same values",) if same else ()
        return cls(paths, a.path is not None and b.path is not None, notes)


@contextmanager
def work_folder(keep: str | os.PathLike[str] | None) -> Iterator[Path]:
    if keep is not None:
        path = Path(keep).absolute()
        path.mkdir(parents=True, exist_ok=True)
        yield path
        return
    with tempfile.TemporaryDirectory(prefix="magneton-ir-") as name:
        yield Path(name)


def absolute(path: str | os.PathLike[str]) -> str:
    return str(Path(path).absolute())


def rule_options(files: Files) -> Iterator[str]:
    for file in [files] if isinstance(files, (str, os.PathLike)) else files:
        yield from ("--rules", absolute(file))


def _bind(bind: Mapping[str, str] | str | os.PathLike[str] | None, folder: Path) -> list[str]:
    if bind is None:
        return []
    if not isinstance(bind, Mapping):
        return ["--bind", absolute(bind)]
    file = folder / "inputs.bind"
    file.write_text("".join(f"{name} = {meaning}\n" for name, meaning in bind.items()))
    return ["--bind", str(file)]


def flags_of(config: Mapping[str, Any] | None) -> Iterator[str]:
    for name, value in (config or {}).items():
        yield f"{name}={json.dumps(value)}"


def _report(text: str, is_temporary: bool, notes: Iterable[str], *sides: Prepared) -> str:
    """The command's report. Its last line names files, which are gone if they were temporary."""
    body, _, last = text.rstrip().rpartition("\n\nnext: ")
    parts = [body if body and is_temporary and "\n" not in last else text.rstrip()]
    parts += [f"  assumed: {note}" for note in notes]
    parts += [f"  assumed of {letter}: {note}" for letter, side in zip("AB", sides) for note in side.assumptions]
    return "\n".join(parts) + "\n"


def _places(result: CheckResult) -> Iterator[str]:
    """The source lines to look at."""
    pairs: list[tuple[str, str]] = []
    if result.witness is not None:
        first = (("A", result.witness.first_a), ("B", result.witness.first_b))
        pairs = [(side, place.op) for side, place in first if place is not None]
    for gap in result.unproven:
        pairs += [(side, op) for side, ops in (("A", gap.a_ops), ("B", gap.b_ops)) for op in ops]
    lines = dict.fromkeys(f"  {side}  {source}" for side, op in pairs if (source := result.sources.get(side.lower(), {}).get(op)))
    if lines:
        yield "source lines to look at:"
        yield from lines
