"""A result as HTML, for notebooks. Every text from a graph is escaped."""

from __future__ import annotations

from collections.abc import Iterable
from html import escape
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from ._result import CheckResult, Region

COLOURS = {"equivalent": "#1a7f37", "different": "#cf222e", "unknown": "#9a6700"}

# A notebook shows the regions in which most is spent; the rest is in `regions`.
MOST_ROWS = 20


def page(result: CheckResult) -> str:
    """The whole result."""
    tier = f", tier {escape(result.tier)}" if result.tier else ""
    colour = COLOURS.get(result.verdict, "inherit")
    parts = [f'<p><b style="color:{colour}">{escape(result.verdict)}</b>{tier}</p>']
    sides = [
        (name, side.file, f"{side.covered_ops} of {side.ops}", energy(side.energy_mj.value), side.energy_mj.source, time(side.time_us))
        for name, side in (("A", result.a), ("B", result.b))
    ]
    parts.append(table(("", "workload", "operators proven", "energy", "source", "time"), sides))
    if result.best.energy_mj is not None:
        best = result.best
        text = f"cheapest known equivalent: {energy(best.energy_mj)}, {time(best.time_us)}"
        saved = [f"{share(of)} of {side}" for side, of in (("A", best.saves_vs_a), ("B", best.saves_vs_b)) if of]
        parts.append(f"<p>{escape(text + ('; saves ' + ', '.join(saved) if saved else ''))}</p>")
    rows = [row(region) for region in costly(result.regions)]
    if rows:
        parts.append(table(("region", "×", "A", "B", "A costs", "B costs", "cheapest", "why"), rows))
    if result.witness is not None:
        witness = result.witness
        text = f"{witness.output}{list(witness.index)} is {witness.a} in A and {witness.b} in B (seed {witness.seed})"
        parts.append(f"<p>{escape(text)}</p>")
        places = [(side, place.op, place.source or "") for side, place in (("A", witness.first_a), ("B", witness.first_b)) if place]
        parts.append(table(("", "look first at", "source"), places))
    for gap in result.unproven:
        agrees = {True: "samples agree", False: "samples part", None: "not evaluated"}[gap.agrees_numerically]
        parts.append(f"<p>not proven equal: {escape(short(gap.a_ops))} and {escape(short(gap.b_ops))} ({agrees})</p>")
    if result.assumptions:
        items = "".join(f"<li>{escape(text)}</li>" for text in result.assumptions)
        parts.append(f"<details><summary>{len(result.assumptions)} assumptions</summary><ul>{items}</ul></details>")
    return "<div>" + "".join(parts) + "</div>"


def costly(regions: Iterable[Region]) -> list[Region]:
    """The regions with the most to save, and of these the most expensive, each kind of region once."""

    def rank(region: Region) -> tuple[float, float]:
        now = max(region.a.energy_mj or 0.0, region.b.energy_mj or 0.0)
        best = region.best.energy_mj
        saved = 0.0 if best is None or region.best.saves_vs_a is region.best.saves_vs_b is None else now - best
        return saved * region.repeats, now * region.repeats

    return sorted((r for r in regions if r.same_as is None), key=rank, reverse=True)[:MOST_ROWS]


def row(region: Region) -> tuple[str, ...]:
    why = " ".join(text for text in (region.cause.text, region.cause.flag, region.cause.a_source) if text)
    times = region.repeats
    costs = [energy(None if cost.energy_mj is None else cost.energy_mj * times) for cost in (region.a, region.b)]
    return (str(region.id), str(times), short(region.a_kinds), short(region.b_kinds), *costs, region.best.form.upper(), why)


def table(head: tuple[str, ...], rows: Iterable[tuple[str, ...]]) -> str:
    names = "".join(f"<th>{escape(name)}</th>" for name in head)
    lines = "".join("<tr>" + "".join(f"<td>{escape(cell)}</td>" for cell in cells) + "</tr>" for cells in rows)
    return f"<table><thead><tr>{names}</tr></thead><tbody>{lines}</tbody></table>" if lines else ""


def short(names: tuple[str, ...], most: int = 4) -> str:
    more = [f"+{len(names) - most}"] if len(names) > most else []
    return ", ".join([*names[:most], *more])


def energy(millijoules: float | None) -> str:
    if millijoules is None:
        return "unknown"
    return f"{millijoules / 1000:.3g} J" if millijoules >= 1000 else f"{millijoules:.3g} mJ"


def time(microseconds: float | None) -> str:
    if microseconds is None:
        return "unknown"
    return f"{microseconds / 1000:.3g} ms" if microseconds >= 1000 else f"{microseconds:.3g} µs"


def share(fraction: float) -> str:
    return f"{100 * fraction:.1f} %"
