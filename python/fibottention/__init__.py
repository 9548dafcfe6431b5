# SPDX-License-Identifier: Apache-2.0
"""Sparse multi-head attention that is really sparse: over torch.ops.fibottention, for models people already have.

>>> import torch, fibottention
>>> q = k = v = torch.randn(2, 12, 197, 64)
>>> fibottention.attention(q, k, v, wmin=5, wmax=65).shape
torch.Size([2, 12, 197, 64])

`convert` gives a model another attention, `restore` its own again; `support` shows which query meets which key.
"""

from .library import load_library

load_library()

from .attention import FibottentionAttention, attention  # noqa: E402  (the operator must be loaded first)
from .conversion import Layer, convert, describe, restore  # noqa: E402
from .registry import Mechanism, Support, mechanisms, support, support_attention  # noqa: E402

__all__ = ["FibottentionAttention", "Layer", "Mechanism", "Support", "attention", "convert", "describe", "load_library",
           "mechanisms", "restore", "support", "support_attention"]
