"""The grid: every call of a composite operator by its name."""

from . import arrange, elementwise, layers, losses, products, reductions

ENTRIES = {}
for _part in (elementwise, products, reductions, arrange, layers, losses):
    for _case in _part.cases():
        assert _case.name not in ENTRIES, _case.name
        ENTRIES[_case.name] = _case
