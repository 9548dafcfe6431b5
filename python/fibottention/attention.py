# SPDX-License-Identifier: Apache-2.0
"""The operator as a function, and as a module in the place of timm's Attention."""

from typing import Any, Optional, Tuple, Type

import torch
from torch import Tensor, nn

from .registry import support


def attention(q: Tensor, k: Tensor, v: Tensor, wmin: int, wmax: int, modified: bool = False, cls: int = 1,
              causal: bool = False, layer: Optional[int] = None, masking: str = "exclude",
              scale: Optional[float] = None, cache: Optional["Cache"] = None) -> Tensor:
    """Attention in which head i looks only at keys whose distance is in row i of the Wythoff array, within a window
    that grows from wmin to wmax over the heads; the first `cls` tokens see and are seen by all.

    q, k [B,H,T,d] and v [B,H,T,e], of any strides; gives [B,H,T,e], differentiable. `layer` permutes the heads as the
    published code does. masking="zero" runs weights trained with that code; "exclude" is the paper's definition.

    With a `Cache`, and causal=True and cls=0, the tokens are those that come next in their sequences. The cache keeps
    their keys and values, and each token reads those at its distances, whatever came before.
    """
    if cache is not None:
        if not causal or cls != 0 or masking != "exclude":
            raise ValueError(f"a cache needs causal=True, cls=0 and masking='exclude', got {causal}, {cls} and {masking!r}")
        return cache.extend(q, k, v, (wmin, wmax, modified, layer), scale)
    return torch.ops.fibottention.attention(q, k, v, wmin, wmax, modified, cls, causal, layer, masking, scale)


class Cache:
    """Keys and values of the sequences of one layer: the last ones, as many as its heads look back at.

    >>> cache = Cache()
    >>> for q in torch.randn(3, 1, 4, 1, 16):  # three tokens, one after the other
    ...     out = attention(q, q, q, wmin=5, wmax=65, cls=0, causal=True, cache=cache)
    >>> cache.position, cache.rows
    (3, 64)
    """

    def __init__(self) -> None:
        self.position = 0
        self._options: Optional[Tuple] = None

    @property
    def rows(self) -> int:
        """Tokens that are kept."""
        return 0 if self._options is None else self._keys.shape[2]

    def extend(self, q: Tensor, k: Tensor, v: Tensor, options: Tuple, scale: Optional[float]) -> Tensor:
        """The next tokens q, k [B,H,n,d] and v [B,H,n,e], one after the other; options are wmin, wmax, modified and
        layer."""
        if torch.is_grad_enabled() and (q.requires_grad or k.requires_grad or v.requires_grad):
            raise ValueError("what a cache gives has no gradient: call it under torch.no_grad()")
        if q.dim() != 4 or k.shape != q.shape or v.dim() != 4 or v.shape[:3] != q.shape[:3]:
            raise ValueError("q and k must be [batch, heads, tokens, channels] and v as many tokens, got "
                             f"{list(q.shape)}, {list(k.shape)} and {list(v.shape)}")
        if self._options is None:
            self._begin(q, v, options)
        kept = (self._keys.shape[:2], self._keys.shape[3], self._values.shape[3])
        if options != self._options or kept != (q.shape[:2], q.shape[3], v.shape[3]):
            raise ValueError(f"the cache is of {self._options} and {list(self._keys.shape)}, got {options} and "
                             f"{list(q.shape)}: wmin, wmax, modified, layer and [batch, heads, rows, channels]")
        scale = q.shape[-1] ** -0.5 if scale is None else scale
        return torch.stack([self._step(q[:, :, t] * scale, k[:, :, t], v[:, :, t]) for t in range(q.shape[2])], 2)

    def _begin(self, q: Tensor, v: Tensor, options: Tuple) -> None:
        wmin, wmax, modified, layer = options
        name = f"fibottention{'-modified' if modified else ''}:wmin={wmin},wmax={wmax}"
        tokens = wmax + 4 * q.shape[1] + 8  # a head whose window is too narrow has its first offset alone, 2.7 times its number
        offsets = support(name, tokens=tokens, heads=q.shape[1], cls=0, layer=layer, causal=True).offsets
        # [H,L], filled up with what no token reaches.
        self._distances = nn.utils.rnn.pad_sequence(offsets, True, 2**62).to(q.device)
        rows = max(int(head[-1]) for head in offsets if len(head) > 0) + 1
        self._keys = q.new_zeros(*q.shape[:2], rows, q.shape[3])
        self._values = q.new_zeros(*q.shape[:2], rows, v.shape[3])
        self._options = options

    def _step(self, q: Tensor, k: Tensor, v: Tensor) -> Tensor:
        """One token: position p lies in row p mod R, and only the rows at its distances are read."""
        row = self.position % self.rows
        self._keys[:, :, row], self._values[:, :, row] = k, v
        seen = self._distances <= self.position
        rows = torch.where(seen, self.position - self._distances, row) % self.rows
        heads = torch.arange(rows.shape[0], device=rows.device)[:, None]
        scores = torch.einsum("bhd,bhld->bhl", q, self._keys[:, heads, rows]).masked_fill(~seen, float("-inf"))
        weights = scores.softmax(-1).masked_fill(~seen, 0)  # a head that sees nothing gives zeros
        self.position += 1
        return torch.einsum("bhl,bhle->bhe", weights, self._values[:, heads, rows])


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
