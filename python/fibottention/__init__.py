# SPDX-License-Identifier: Apache-2.0
"""Sparse multi-head attention that is really sparse: a thin layer over torch.ops.fibottention."""

from .library import load_library

load_library()

from .attention import FibottentionAttention, attention  # noqa: E402  (the operator must be loaded first)

__all__ = ["FibottentionAttention", "attention", "load_library"]
