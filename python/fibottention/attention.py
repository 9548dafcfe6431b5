# SPDX-License-Identifier: Apache-2.0
"""The operator as a function, and as a module in the place of timm's Attention."""

from typing import Any, Optional, Type

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
    """Takes the place of timm's `Attention`: its arguments and its parameters (qkv, proj), so the same state dict.

    wmax defaults to a third of the patch tokens, wmin to min(5, wmax), both taken from the input. `layer` is the number
    of the block, from 0; it selects the head permutation. `attention` names another mechanism, NAME or NAME:key=value,….
    """

    def __init__(self, dim: int, num_heads: int = 8, qkv_bias: bool = False, attn_drop: float = 0.0, proj_drop: float = 0.0,
                 *, wmin: Optional[int] = None, wmax: Optional[int] = None, modified: bool = False, cls: int = 1,
                 layer: Optional[int] = None, masking: str = "exclude", causal: bool = False, attention: str = "",
                 qk_norm: bool = False, scale_norm: bool = False, proj_bias: bool = True,
                 norm_layer: Optional[Type[nn.Module]] = None, device: Any = None, dtype: Any = None) -> None:
        super().__init__()
        if dim % num_heads != 0:
            raise ValueError(f"dim must be divisible by num_heads, got {dim} and {num_heads}")
        self.num_heads = num_heads
        self.head_dim = dim // num_heads
        self.wmin, self.wmax, self.modified, self.cls = wmin, wmax, modified, cls
        self.layer, self.masking, self.causal, self.attention = layer, masking, causal, attention
        made = {"device": device, "dtype": dtype}
        norm = norm_layer or nn.LayerNorm
        self.qkv = nn.Linear(dim, dim * 3, bias=qkv_bias, **made)
        self.q_norm = norm(self.head_dim, **made) if qk_norm else nn.Identity()
        self.k_norm = norm(self.head_dim, **made) if qk_norm else nn.Identity()
        self.attn_drop = nn.Dropout(attn_drop)
        self.norm = norm(dim, **made) if scale_norm else nn.Identity()
        self.proj = nn.Linear(dim, dim, bias=proj_bias, **made)
        self.proj_drop = nn.Dropout(proj_drop)

    def mechanism(self, tokens: int) -> str:
        """As the registry writes it."""
        if self.attention:
            return self.attention
        wmax = max(1, (tokens - self.cls) // 3) if self.wmax is None else self.wmax
        wmin = min(5, wmax) if self.wmin is None else self.wmin
        return f"fibottention{'-modified' if self.modified else ''}:wmin={wmin},wmax={wmax}"

    def forward(self, x: Tensor, attn_mask: Optional[Tensor] = None, is_causal: bool = False) -> Tensor:
        if attn_mask is not None:
            raise ValueError("FibottentionAttention takes no attn_mask: its support is its mask")
        batch, tokens, _ = x.shape
        qkv = self.qkv(x).reshape(batch, tokens, 3, self.num_heads, self.head_dim)
        if not isinstance(self.q_norm, nn.Identity):
            q, k, v = qkv.unbind(2)  # each [B,T,H,d]
            qkv = torch.stack([self.q_norm(q), self.k_norm(k), v], 2)
        dropout = self.attn_drop.p if self.training else 0.0
        x = torch.ops.fibottention.named_attention_packed(qkv, self.mechanism(tokens), self.cls, self.causal or is_causal,
                                                          self.layer, None, self.masking, None, dropout)
        return self.proj_drop(self.proj(self.norm(x)))

    def extra_repr(self) -> str:
        named = f"attention={self.attention}, " if self.attention else f"wmin={self.wmin}, wmax={self.wmax}, "
        return (f"{named}modified={self.modified}, cls={self.cls}, layer={self.layer}, masking={self.masking}, "
                f"causal={self.causal}")
