"""What `check` found, as typed data.

The classes mirror the JSON object of `magneton-ir check --format json` (schema `magneton-ir/check/1`), whose keys are a promise.
Energies are in millijoules and times in microseconds, both for one execution. A figure that is not known is `None`, never 0.
"""

from __future__ import annotations

import dataclasses
import json
import types
import typing
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal, TypeVar, Union

from ._errors import BinaryError
from ._html import page

SCHEMA = "magneton-ir/check/1"

#: A number of a tensor: an infinity or a NaN is a word.
Number = Union[int, float, bool, str, None]


@dataclass(frozen=True)
class Figure:
    """A value with its interval."""

    value: float | None
    low: float | None
    high: float | None
    #: "measured", "estimated", "mixed" or "unknown".
    source: str


@dataclass(frozen=True)
class LeftOut:
    """An operator without a price."""

    op: str
    count: int
    bytes: float


@dataclass(frozen=True)
class Side:
    """One workload."""

    file: str
    #: Operators; inputs, constants and asserts left out.
    ops: int
    #: Those in a proven region.
    covered_ops: int
    energy_mj: Figure
    time_us: float | None
    #: Math flags that differ from PyTorch's defaults, such as `allow_tf32=true`.
    flags: tuple[str, ...] = ()
    left_out: tuple[LeftOut, ...] = ()


@dataclass(frozen=True)
class Savings:
    """The cheapest known equivalent of the whole."""

    energy_mj: float | None
    time_us: float | None
    #: What it saves as a fraction of A's energy; `None` where a figure is unknown or the intervals meet.
    saves_vs_a: float | None
    saves_vs_b: float | None


@dataclass(frozen=True)
class Cost:
    """What one side of a region costs."""

    energy_mj: float | None
    time_us: float | None
    #: Kernels.
    launches: int
    flops: float
    bytes: float
    energy_range_mj: tuple[float, ...] | None = None
    energy_source: str = "unknown"


@dataclass(frozen=True)
class BestForm:
    """The cheapest known form of a region."""

    form: Literal["a", "b", "other"]
    energy_mj: float | None
    time_us: float | None
    #: The form in operators of the IR, such as `addmm(b, x, w)`.
    text: str
    saves_vs_a: float | None = None
    saves_vs_b: float | None = None
    #: It is cheaper and more than 1 % slower.
    trade_off: bool = False


@dataclass(frozen=True)
class Cause:
    """Why one side of a region costs more."""

    kind: str
    text: str
    #: The flag that makes the difference, if one does.
    flag: str | None
    #: `file:line code`.
    a_source: str | None
    b_source: str | None


@dataclass(frozen=True)
class Region:
    """Operators of both sides that compute the same from the same."""

    #: Counts from 1 in the order of A.
    id: int
    #: Names of graph nodes.
    a_ops: tuple[str, ...]
    b_ops: tuple[str, ...]
    tier: str
    rules: tuple[str, ...]
    a: Cost
    b: Cost
    best: BestForm
    cause: Cause
    #: Operators of the IR, in the order of `a_ops`.
    a_kinds: tuple[str, ...] = ()
    b_kinds: tuple[str, ...] = ()
    #: The first region that this one repeats.
    same_as: int | None = None
    #: How many regions are the same, this one included.
    repeats: int = 1


@dataclass(frozen=True)
class Rewrite:
    """A cheaper form of operators that several regions hold."""

    side: Literal["a", "b", "other"]
    a_ops: tuple[str, ...]
    b_ops: tuple[str, ...]
    to: str
    pattern: str
    saves_mj: float
    saves_us: float
    rules: tuple[str, ...]
    tier: str


@dataclass(frozen=True)
class Place:
    """An operator, and where it was written."""

    op: str
    #: `file:line code`.
    source: str | None


@dataclass(frozen=True)
class Witness:
    """An input on which the sides part."""

    seed: int
    region: int | None
    #: The element in A and in B.
    a: Number
    b: Number
    max_abs_error: float | None
    output: str = ""
    index: tuple[int, ...] = ()
    #: The first operators whose results part: most likely responsible.
    first_a: Place | None = None
    first_b: Place | None = None


@dataclass(frozen=True)
class Unproven:
    """Operators that should be equal and could not be proven so, although everything before them is."""

    a_ops: tuple[str, ...]
    b_ops: tuple[str, ...]
    #: `None` where the samples could not be evaluated.
    agrees_numerically: bool | None
    #: Either side as `.mir` text.
    a_mir: str | None = None
    b_mir: str | None = None
    #: The rule that would close the gap, to be judged before it is used.
    rule: str | None = None


@dataclass(frozen=True)
class Setting:
    """Something that the processes of the two sides had set differently."""

    #: Such as `cudnn.benchmark`, `variables.OMP_NUM_THREADS`, `versions.torch`.
    name: str
    #: `None` where it was not set.
    a: str | None
    b: str | None


@dataclass(frozen=True)
class CheckResult:
    """What is known of two workloads. `str()` of it is the report for a person; notebooks show it as a table."""

    verdict: Literal["equivalent", "different", "unknown"]
    #: The weakest tier that the proof uses: `exact`, `real`, `rounding`, `approx(e)`. `None` unless equivalent.
    tier: str | None
    a: Side
    b: Side
    best: Savings
    regions: tuple[Region, ...]
    #: Given exactly when the verdict is `different`.
    witness: Witness | None
    unproven: tuple[Unproven, ...]
    #: What the verdict rests on besides the proof: bindings that were guessed, what rules assumed, numbers that Python read
    #: while a graph was recorded.
    assumptions: tuple[str, ...]
    rewrites: tuple[Rewrite, ...] = ()
    #: At tier `approx`: how far the outputs are apart at most.
    output_error: float | None = None
    #: Device and software that the measured figures come from.
    profile: str | None = None
    timing_ms: Mapping[str, float] = field(default_factory=dict)
    #: What the processes of the two sides had set differently, math flags aside.
    settings: tuple[Setting, ...] = ()
    #: Of each side: versions and flags of the process that wrote the graph.
    environment: Mapping[str, Mapping[str, object]] = field(default_factory=dict)
    #: The report for a person.
    report: str = ""
    #: Names of graph nodes to `file:line code`, per side, where the graph came from Python.
    sources: Mapping[str, Mapping[str, str]] = field(default_factory=dict, repr=False)

    @property
    def equivalent(self) -> bool:
        """Whether the two are proven equal."""
        return self.verdict == "equivalent"

    @property
    def savings(self) -> Savings:
        """The same as `best`."""
        return self.best

    def __bool__(self) -> bool:
        raise TypeError("a CheckResult is neither true nor false: ask for its `equivalent` or its `verdict`")

    def __str__(self) -> str:
        return self.report

    def _repr_html_(self) -> str:
        return page(self)

    @classmethod
    def of_json(cls, text: str, **more: Any) -> CheckResult:
        """The result that the command wrote as JSON. `more` are fields that the JSON does not hold."""
        data = json.loads(text)
        if data.get("schema") != SCHEMA:
            raise BinaryError(f"the command's report has the schema {data.get('schema')!r}, not {SCHEMA!r}")
        result = _decode(cls, data)
        notes = tuple(more.pop("assumptions", ()))
        return dataclasses.replace(result, assumptions=result.assumptions + notes, **more)


T = TypeVar("T")


def _decode(kind: type[T], data: Mapping[str, Any]) -> T:
    """An instance of the dataclass `kind`. Keys that it does not have are left out: newer commands may write more."""
    hints = typing.get_type_hints(kind)
    fields = [f.name for f in dataclasses.fields(kind)]  # type: ignore[arg-type]
    return kind(**{name: _value(hints[name], data[name]) for name in fields if name in data})


def _value(hint: Any, value: Any) -> Any:
    if value is None:
        return None
    origin, parts = typing.get_origin(hint), typing.get_args(hint)
    if origin in (Union, types.UnionType):
        of_data = [part for part in parts if dataclasses.is_dataclass(part) or typing.get_origin(part) is tuple]
        return _value(of_data[0], value) if of_data else value
    if origin is tuple:
        return tuple(_value(parts[0], item) for item in value)
    if dataclasses.is_dataclass(hint):
        return _decode(typing.cast(type, hint), value)
    return value
