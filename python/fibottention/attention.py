# SPDX-License-Identifier: Apache-2.0
"""The operator as a function, and as a module in the place of timm's Attention."""

from typing import Optional

import torch
from torch import Tensor, nn


def attention(q: Tensor, k: Tensor, v: Tensor, wmin: int, wmax: int, modified: bool = False, cls: int = 1,
              causal: bool = False, layer: Optional[int] = None, masking: str = "exclude",
              scale: Optional[float] = None) -> Tensor:
    """Attention in which head i looks only at keys whose distance is in row i of the Wythoff array, within a window
    that grows from wmin to wmax over the heads; the first `cls` tokens see and are seen by all.

    q, k [B,H,T,d] and v [B,H,T,e], of any strides; gives [B,H,T,e], differentiable. `layer` permutes the heads as the
    published code does. masking="zero" runs weights trained with that code; "exclude" is the paper's definition.
    """
    return torch.ops.fibottention.attention(q, k, v, wmin, wmax, modified, cls, causal, layer, masking, scale)


class FibottentionAttention(nn.Module):
    """Takes the place of timm's `Attention`: the same parameters (qkv, proj), so the same state dict.

    wmax defaults to a third of the patch tokens, wmin to min(5, wmax), both taken from the input. `layer` is the number
    of the block, from 0; it selects the head permutation.
    """

    def __init__(self, dim: int, num_heads: int = 8, qkv_bias: bool = False, attn_drop: float = 0.0, proj_drop: float = 0.0,
                 *, wmin: Optional[int] = None, wmax: Optional[int] = None, modified: bool = False, cls: int = 1,
                 layer: Optional[int] = None, masking: str = "exclude", causal: bool = False) -> None:
        super().__init__()
        if dim % num_heads != 0:
            raise ValueError(f"dim must be divisible by num_heads, got {dim} and {num_heads}")
        self.num_heads = num_heads
        self.head_dim = dim // num_heads
        self.wmin, self.wmax, self.modified, self.cls = wmin, wmax, modified, cls
        self.layer, self.masking, self.causal = layer, masking, causal
        self.qkv = nn.Linear(dim, dim * 3, bias=qkv_bias)
        self.attn_drop = nn.Dropout(attn_drop)
        self.proj = nn.Linear(dim, dim)
        self.proj_drop = nn.Dropout(proj_drop)

    def forward(self, x: Tensor) -> Tensor:
        batch, tokens, _ = x.shape
        wmax = max(1, (tokens - self.cls) // 3) if self.wmax is None else self.wmax
        wmin = min(5, wmax) if self.wmin is None else self.wmin
        qkv = self.qkv(x).reshape(batch, tokens, 3, self.num_heads, self.head_dim)
        dropout = self.attn_drop.p if self.training else 0.0
        x = torch.ops.fibottention.attention_packed(qkv, wmin, wmax, self.modified, self.cls, self.causal, self.layer,
                                                    self.masking, None, dropout)
        return self.proj_drop(self.proj(x))

    def extra_repr(self) -> str:
        return (f"wmin={self.wmin}, wmax={self.wmax}, modified={self.modified}, cls={self.cls}, layer={self.layer}, "
                f"masking={self.masking}, causal={self.causal}")
