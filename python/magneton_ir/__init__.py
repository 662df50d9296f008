"""Proves which parts of two PyTorch workloads are equal, and which of them spends less GPU energy.

```python
import magneton_ir as mir

result = mir.check(model_a, model_b, args=(ids,))
print(result.verdict, result.tier, result.savings.saves_vs_a)
mir.assert_equivalent(model_a, model_b, (ids,))
lean, findings = mir.optimize(model_a, args=(ids,))
recording = mir.record(engine_step, ids, cache)
compiled = torch.compile(model_a, backend=mir.backend("out/"))
```

Nothing here imports PyTorch before it is needed: files are checked without it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ._binary import binary
from ._check import assert_equivalent, check
from ._errors import BinaryError, Error
from ._optimize import Finding, Findings, optimize
from ._result import (
    BestForm,
    Cause,
    CheckResult,
    Cost,
    Figure,
    LeftOut,
    Place,
    Region,
    Rewrite,
    Savings,
    Setting,
    Side,
    Unproven,
    Witness,
)

if TYPE_CHECKING:
    from ._dynamo import backend
    from ._record import Recording, record

__all__ = [
    "BestForm",
    "BinaryError",
    "Cause",
    "CheckResult",
    "Cost",
    "Error",
    "Figure",
    "Finding",
    "Findings",
    "LeftOut",
    "Place",
    "Recording",
    "Region",
    "Rewrite",
    "Savings",
    "Setting",
    "Side",
    "Unproven",
    "Witness",
    "assert_equivalent",
    "backend",
    "binary",
    "check",
    "optimize",
    "record",
]

_OF_TORCH = {"Recording": "_record", "record": "_record", "backend": "_dynamo"}


def __getattr__(name: str) -> Any:
    if name in _OF_TORCH:
        from importlib import import_module

        return getattr(import_module(f".{_OF_TORCH[name]}", __name__), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
