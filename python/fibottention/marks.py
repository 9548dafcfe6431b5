# SPDX-License-Identifier: Apache-2.0
"""Weights that were saved from a converted model say so when they are loaded into one that is not: the numbers fit, and
mean something else there. The mark is in a state dict's metadata, which torch.save keeps and safetensors does not; keys
and tensors stay as they are.
"""

import functools
import warnings
from typing import Any, Dict, Mapping

from torch import nn

KEY = "fibottention"


def mark(destination: Any, prefix: str, attention: str) -> None:
    """To be called when a module saves its state."""
    metadata = getattr(destination, "_metadata", None)
    if metadata is not None and prefix[:-1] in metadata:
        metadata[prefix[:-1]][KEY] = attention


def marks_of(state_dict: Mapping[str, Any]) -> Dict[str, str]:
    """By the name of each module that was converted, its attention."""
    metadata = getattr(state_dict, "_metadata", None) or {}
    return {name: entry[KEY] for name, entry in metadata.items() if isinstance(entry, dict) and KEY in entry}


def say_what_differs(model: nn.Module, state_dict: Mapping[str, Any]) -> None:
    told = marks_of(state_dict)
    if not told:
        return
    modules = dict(model.named_modules())
    other = {name: text for name, text in told.items()
             if name in modules and getattr(modules[name], "fib_attention", None) != text}
    if other:
        texts = sorted(set(other.values()))
        has = getattr(modules[next(iter(other))], "fib_attention", "its own attention")
        warnings.warn(f"these weights are of a model with {' and '.join(texts)} in {len(other)} layers, and this model has "
                      f"{has} there: fibottention.convert(model, {texts[0]!r}) gives it theirs", stacklevel=4)


def watch_loading() -> None:
    """Every load_state_dict looks at the marks first. Doing it twice changes nothing."""
    load = nn.Module.load_state_dict
    if getattr(load, "looks_at_marks", False):
        return

    @functools.wraps(load)
    def load_state_dict(self: nn.Module, state_dict: Mapping[str, Any], *arguments: Any, **options: Any) -> Any:
        say_what_differs(self, state_dict)
        return load(self, state_dict, *arguments, **options)

    load_state_dict.looks_at_marks = True  # type: ignore[attr-defined]
    nn.Module.load_state_dict = load_state_dict  # type: ignore[assignment]
