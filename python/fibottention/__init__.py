# SPDX-License-Identifier: Apache-2.0
"""Sparse multi-head attention that computes only the pairs it keeps, for models people already have.

Each head looks at the distances in its own row of the Wythoff array, in O(N log N) time and O(N) memory, forward and
backward. A model of torchvision, timm or Hugging Face gets it in one line and keeps its weights:

>>> import torch, fibottention
>>> block = torch.nn.MultiheadAttention(48, 3, batch_first=True)
>>> block = fibottention.convert(block, "fibottention", wmax=21, cls=1)
>>> fibottention.describe(block)
  0  model: fibottention:wmax=21 (cls 1)
>>> x = torch.randn(2, 197, 48)
>>> block(x, x, x)[0].shape
torch.Size([2, 197, 48])

    convert(model, "fibottention", layers=…, wmax=…)   gives a model another attention, in place
    describe(model)         what every layer computes, one line each
    restore(model)          gives the model its own attention again
    attention(q, k, v, wmin, wmax)                     the operator on [B,H,T,d] tensors, differentiable
    FibottentionAttention(dim, heads)                  a module in the place of timm's Attention
    mechanisms()            every mechanism by name, with its options
    support("bigbird:w=2", tokens=196, heads=12)       which query meets which key, as tensors
    register_attention()    the name "fibottention" for Hugging Face's attn_implementation

From a shell: `python -m fibottention.profile torchvision:vit_b_16` times a model before and after, with the bound that no
attention can pass. Everything else, with examples: docs/python.md.
"""

try:
    import torch as _torch  # noqa: F401
except ImportError as _reason:
    if _reason.name != "torch":
        raise
    from .interpreters import without_torch

    raise ImportError(without_torch(), name="torch") from None

from .library import load_library

load_library()

from .attention import Cache, FibottentionAttention, attention  # noqa: E402  (the operators must be registered first)
from .conversion import Layer, convert, describe, restore  # noqa: E402
from .hooks import register_attention  # noqa: E402
from .marks import watch_loading  # noqa: E402
from .registry import Mechanism, Support, mechanisms, support, support_attention  # noqa: E402

watch_loading()

__version__ = "0.1.0"
__all__ = ["Cache", "FibottentionAttention", "Layer", "Mechanism", "Support", "__version__", "attention", "convert",
           "describe", "load_library", "mechanisms", "register_attention", "restore", "support", "support_attention"]
