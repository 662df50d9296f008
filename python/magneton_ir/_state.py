"""What a run leaves in the attributes of modules."""

from __future__ import annotations

from typing import Any

import torch
from torch.utils._pytree import tree_leaves


class ModuleState:
    """The tensors that the modules hold, in attributes too. A run may replace them, which no graph says."""

    def __init__(self, module: torch.nn.Module) -> None:
        self._places = [
            (path, store, dict(store)) for path, child in module.named_modules() for store in (child._parameters, child._buffers, child.__dict__)
        ]
        # Containers are compared by what they hold.
        self._held = {id(value): (value, _copied(value)) for _, _, values in self._places for value in values.values()}

    def restore(self) -> list[str]:
        """Puts everything back, and gives the names of what was replaced."""
        changed = []
        for path, store, before in self._places:
            for name in [*before, *(name for name in store if name not in before)]:
                now, was = store.get(name), before.get(name)
                if now is was and not self._differs(now):
                    continue
                if not any(isinstance(x, torch.Tensor) for x in (*tree_leaves(now), *tree_leaves(was))):
                    continue
                changed.append(f"{path}.{name}".lstrip("."))
                if name in before:
                    store[name] = was
                else:
                    del store[name]
        for value, copy in self._held.values():
            if isinstance(value, (list, dict)) and _differ(value, copy):
                value.clear()
                value.extend(copy) if isinstance(value, list) else value.update(copy)
        return changed

    def _differs(self, value: Any) -> bool:
        held = self._held.get(id(value))
        return held is not None and _differ(value, held[1])


def _copied(value: Any) -> Any:
    return value.copy() if type(value) in (list, dict) else None


def _differ(value: Any, copy: Any) -> bool:
    if copy is None:
        return False
    ours, theirs = (list(x.values()) if isinstance(x, dict) else x for x in (value, copy))
    return len(ours) != len(theirs) or any(x is not y for x, y in zip(ours, theirs))
