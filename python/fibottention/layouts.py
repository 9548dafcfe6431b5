# SPDX-License-Identifier: Apache-2.0
"""Attention modules as other people write them, with our operator inside.

A module that is exchanged stays the object it is, with its parameters, buffers, children, hooks and place in the model; only
its class becomes one of these, and what the operator must know is added as attributes fib_*. So state dicts, optimizers,
device moves, copies, pickles and DataParallel's replicas work as before, and giving the class back undoes it.

Letters: B samples (windows count as samples), T tokens, C channels, H heads, d channels of a head, G windows of an image.
"""

from typing import Any, Dict, List, Optional, Tuple

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from . import marks


class Exchanged(nn.Module):
    """What all layouts share; each of them says what it looks like, and computes."""

    fib_attention: str  # the mechanism's text
    fib_masking: str
    fib_cls: int
    fib_layer: int
    fib_scale: float
    fib_grid_shape: List[int]  # of the patches; empty: a square. Subclasses repeat it: torch.jit reads a class's own types
    fib_dropout: float
    fib_outputs: int  # how many things its own forward gives
    takes_bias = False  # whether scores have a term for each pair
    known_children = ("qkv", "proj", "q_norm", "k_norm", "norm", "attn_drop", "proj_drop")
    known_tensors: Tuple[str, ...] = ()

    def attend(self, qkv: Tensor, bias: Optional[Tensor]) -> Tensor:
        """[B,T,3,H,d] -> [B,T,H·d]"""
        dropout = self.fib_dropout if self.training else 0.0
        return torch.ops.fibottention.named_attention_packed(qkv, self.fib_attention, self.fib_cls, False, self.fib_layer,
                                                             bias, self.fib_masking, self.fib_scale, dropout,
                                                             self.fib_grid_shape)

    def attend_apart(self, q: Tensor, k: Tensor, v: Tensor) -> Tensor:
        """[B,H,T,d] each -> [B,H,T,d]"""
        dropout = self.fib_dropout if self.training else 0.0
        return torch.ops.fibottention.named_attention(q, k, v, self.fib_attention, self.fib_cls, False, self.fib_layer,
                                                      None, self.fib_masking, self.fib_scale, dropout,
                                                      self.fib_grid_shape)

    def _save_to_state_dict(self, destination: Any, prefix: str, keep_vars: bool) -> None:
        super()._save_to_state_dict(destination, prefix, keep_vars)
        marks.mark(destination, prefix, self.fib_attention)

    @classmethod
    def looks_like(cls, module: nn.Module) -> bool:
        raise NotImplementedError

    @classmethod
    def unknown_parts(cls, module: nn.Module) -> List[str]:
        """Learned things of the module that this layout does not compute with."""
        own = [name for store in (module._parameters, module._buffers) for name, tensor in store.items()
               if tensor is not None and name not in cls.known_tensors]
        children = [name for name, child in module.named_children()
                    if name not in cls.known_children and next(child.parameters(), None) is not None]
        return own + children

    @classmethod
    def refusal(cls, module: nn.Module) -> str:
        """Why a module that looks like this layout is not one; empty where it is."""
        unknown = cls.unknown_parts(module)
        return f"it computes with {', '.join(unknown)} besides" if unknown else ""

    @classmethod
    def heads(cls, module: nn.Module) -> int:
        return int(module.num_heads)

    @classmethod
    def settings(cls, module: nn.Module) -> Dict[str, Any]:
        """What the operator must know of the module besides the mechanism."""
        return {"fib_dropout": probability(getattr(module, "attn_drop", 0.0)),
                "fib_scale": scale_of(module, "scale", module.qkv.out_features // (3 * module.num_heads))}

    @classmethod
    def example(cls, module: nn.Module, cls_tokens: int) -> Tuple[Tensor, ...]:
        """Arguments with which a module can be tried."""
        return (example_tokens(module.qkv.weight, (2, cls_tokens + 6, module.qkv.in_features)),)


class PackedAttention(Exchanged):
    """timm's Attention, and what looks like it: qkv, proj, num_heads; perhaps norms of q and k, dropout."""

    fib_grid_shape: List[int]

    @classmethod
    def looks_like(cls, module: nn.Module) -> bool:
        return has_linear(module, "qkv", "proj") and isinstance(getattr(module, "num_heads", None), int)

    def forward(self, x: Tensor, attn_mask: Optional[Tensor] = None, is_causal: bool = False) -> Tensor:
        if attn_mask is not None or is_causal:
            raise ValueError("an exchanged attention takes no attn_mask: its support is its mask")
        batch, tokens, _ = x.shape
        qkv = self.qkv(x).reshape(batch, tokens, 3, self.num_heads, -1)
        if hasattr(self, "q_norm"):
            q, k, v = qkv.unbind(2)  # each [B,T,H,d]
            qkv = torch.stack([self.q_norm(q), self.k_norm(k), v], 2)
        x = self.attend(qkv, None)
        if hasattr(self, "norm"):
            x = self.norm(x)
        x = self.proj(x)
        if hasattr(self, "proj_drop"):
            x = self.proj_drop(x)
        return x


class WindowAttention(Exchanged):
    """The attention of Swin as its authors and timm write it: windows arrive as samples, relative positions have a bias."""

    fib_grid_shape: List[int]

    takes_bias = True
    known_tensors = ("relative_position_bias_table", "relative_position_index")

    @classmethod
    def looks_like(cls, module: nn.Module) -> bool:
        return (PackedAttention.looks_like(module) and hasattr(module, "relative_position_bias_table")
                and hasattr(module, "relative_position_index"))

    @classmethod
    def example(cls, module: nn.Module, cls_tokens: int) -> Tuple[Tensor, ...]:
        tokens = int(module.relative_position_index.numel() ** 0.5)
        return (example_tokens(module.qkv.weight, (2, tokens, module.qkv.in_features)),)

    def position_bias(self, tokens: int) -> Tensor:
        """[1,H,T,T]"""
        rows = self.relative_position_bias_table[self.relative_position_index.reshape(-1)]
        return rows.view(tokens, tokens, -1).permute(2, 0, 1).unsqueeze(0)

    def forward(self, x: Tensor, mask: Optional[Tensor] = None) -> Tensor:
        batch, tokens, _ = x.shape
        bias = self.position_bias(tokens)
        if mask is not None:
            bias = bias + mask.unsqueeze(1)  # [G,H,T,T]
        x = self.proj(self.attend(self.qkv(x).reshape(batch, tokens, 3, self.num_heads, -1), bias))
        if hasattr(self, "proj_drop"):
            x = self.proj_drop(x)
        return x


class ShiftedWindowAttention(WindowAttention):
    """torchvision's: takes the image [B,height,width,C] and makes the windows itself."""

    fib_grid_shape: List[int]

    @classmethod
    def looks_like(cls, module: nn.Module) -> bool:
        return WindowAttention.looks_like(module) and hasattr(module, "shift_size") and hasattr(module, "attention_dropout")

    @classmethod
    def settings(cls, module: nn.Module) -> Dict[str, Any]:
        return {"fib_dropout": float(module.attention_dropout),
                "fib_scale": scale_of(module, "", module.proj.in_features // module.num_heads)}

    @classmethod
    def example(cls, module: nn.Module, cls_tokens: int) -> Tuple[Tensor, ...]:
        height, width = (2 * size - 1 for size in module.window_size)
        return (example_tokens(module.qkv.weight, (1, height, width, module.qkv.in_features)),)

    def forward(self, x: Tensor) -> Tensor:
        height, width = x.shape[1], x.shape[2]
        window: List[int] = self.window_size
        down, right = (-height) % window[0], (-width) % window[1]
        x = F.pad(x, (0, 0, 0, right, 0, down))
        padded_height, padded_width = height + down, width + right
        shift_rows = self.shift_size[0] if window[0] < padded_height else 0
        shift_columns = self.shift_size[1] if window[1] < padded_width else 0
        shifted = shift_rows + shift_columns > 0
        if shifted:
            x = torch.roll(x, shifts=(-shift_rows, -shift_columns), dims=(1, 2))
        windows = to_windows(x, window)  # [B·G,T,C]
        tokens = windows.shape[1]
        bias = self.position_bias(tokens)
        if shifted:
            rows = regions(padded_height, window[0], shift_rows, x)
            columns = regions(padded_width, window[1], shift_columns, x)
            bias = bias + neighbours_only(rows, columns, window).to(bias.dtype)
        qkv = self.qkv(windows).reshape(windows.shape[0], tokens, 3, self.num_heads, -1)
        windows = F.dropout(self.proj(self.attend(qkv, bias)), p=self.dropout, training=self.training)
        x = from_windows(windows, window, padded_height, padded_width)
        if shifted:
            x = torch.roll(x, shifts=(shift_rows, shift_columns), dims=(1, 2))
        return x[:, :height, :width, :].contiguous()


class MultiheadAttention(Exchanged):
    """torch's nn.MultiheadAttention where it is self-attention, as in torchvision's ViT. There is no map: the second
    result is None."""

    fib_grid_shape: List[int]

    known_children = ("out_proj",)
    known_tensors = ("in_proj_weight", "in_proj_bias")

    @classmethod
    def looks_like(cls, module: nn.Module) -> bool:
        return isinstance(module, nn.MultiheadAttention)

    @classmethod
    def refusal(cls, module: nn.Module) -> str:
        if not module._qkv_same_embed_dim:
            return "keys or values have other channels than queries: it is no self-attention"
        if module.bias_k is not None or module.add_zero_attn:
            return "it adds keys that are no tokens (add_bias_kv, add_zero_attn)"
        return super().refusal(module)

    @classmethod
    def settings(cls, module: nn.Module) -> Dict[str, Any]:
        return {"fib_dropout": float(module.dropout), "fib_scale": scale_of(module, "", module.head_dim)}

    @classmethod
    def example(cls, module: nn.Module, cls_tokens: int) -> Tuple[Tensor, ...]:
        x = example_tokens(module.in_proj_weight, (2, cls_tokens + 6, module.embed_dim))
        x = x if module.batch_first else x.transpose(0, 1)
        return (x, x, x)

    def forward(self, query: Tensor, key: Tensor, value: Tensor, key_padding_mask: Optional[Tensor] = None,
                need_weights: bool = True, attn_mask: Optional[Tensor] = None, average_attn_weights: bool = True,
                is_causal: bool = False) -> Tuple[Tensor, Optional[Tensor]]:
        if not (query is key and key is value):
            raise ValueError("an exchanged attention is self-attention: query, key and value must be one tensor")
        if key_padding_mask is not None or attn_mask is not None or is_causal:
            raise ValueError("an exchanged attention takes no masks: its support is its mask")
        batched = query.dim() == 3
        x = query if batched else query.unsqueeze(0)
        turned = batched and not self.batch_first
        if turned:
            x = x.transpose(0, 1)
        qkv = F.linear(x, self.in_proj_weight, self.in_proj_bias)
        out = self.out_proj(self.attend(qkv.reshape(x.shape[0], x.shape[1], 3, self.num_heads, -1), None))
        if turned:
            out = out.transpose(0, 1)
        return (out if batched else out.squeeze(0)), None


class QueryKeyValueAttention(Exchanged):
    """The self-attention inside Hugging Face's ViT: query, key, value; the projection stands outside. Where its own gives
    a map besides, this gives None."""

    fib_grid_shape: List[int]

    known_children = ("query", "key", "value", "dropout")

    @classmethod
    def looks_like(cls, module: nn.Module) -> bool:
        return has_linear(module, "query", "key", "value") and isinstance(getattr(module, "num_attention_heads", None), int)

    @classmethod
    def heads(cls, module: nn.Module) -> int:
        return int(module.num_attention_heads)

    @classmethod
    def settings(cls, module: nn.Module) -> Dict[str, Any]:
        dropout = getattr(module, "dropout", getattr(module, "dropout_prob", 0.0))
        return {"fib_dropout": probability(dropout),
                "fib_scale": scale_of(module, "scaling", module.query.out_features // module.num_attention_heads)}

    @classmethod
    def example(cls, module: nn.Module, cls_tokens: int) -> Tuple[Tensor, ...]:
        return (example_tokens(module.query.weight, (2, cls_tokens + 6, module.query.in_features)),)

    def split(self, x: Tensor) -> Tensor:
        """[B,T,H·d] -> [B,H,T,d], a view"""
        return x.reshape(x.shape[0], x.shape[1], self.num_attention_heads, -1).transpose(1, 2)

    def forward(self, hidden_states: Tensor, head_mask: Optional[Tensor] = None,
                output_attentions: bool = False) -> Tuple[Optional[Tensor], ...]:
        if head_mask is not None or output_attentions:
            raise ValueError("an exchanged attention has no map: pass neither head_mask nor output_attentions")
        q, k, v = self.split(self.query(hidden_states)), self.split(self.key(hidden_states)), self.split(
            self.value(hidden_states))
        out = self.attend_apart(q, k, v)
        return (out.transpose(1, 2).flatten(2),) + (None,) * (self.fib_outputs - 1)


# The narrower before the wider: whatever a module looks like first is what it is.
LAYOUTS = (MultiheadAttention, ShiftedWindowAttention, WindowAttention, PackedAttention, QueryKeyValueAttention)


def has_linear(module: nn.Module, *names: str) -> bool:
    return all(isinstance(getattr(module, name, None), nn.Linear) for name in names)


def probability(dropout: Any) -> float:
    """Of a dropout that is a module, a number, or something that drops nothing."""
    return float(getattr(dropout, "p", dropout if isinstance(dropout, float) else 0.0))


def scale_of(module: nn.Module, name: str, head_dim: int) -> float:
    """What the module multiplies scores with, 1/√d unless an attribute says it."""
    value = getattr(module, name, None)
    return float(value) if isinstance(value, float) else head_dim ** -0.5


def example_tokens(like: Tensor, shape: Tuple[int, ...]) -> Tensor:
    """The same numbers every time, drawn from nobody's generator."""
    return torch.randn(shape, generator=torch.Generator().manual_seed(0)).to(like.device, like.dtype)


def to_windows(x: Tensor, window: List[int]) -> Tensor:
    """[B,height,width,C] -> [B·G,T,C], windows and the tokens inside in reading order."""
    batch, height, width, channels = x.shape
    x = x.reshape(batch, height // window[0], window[0], width // window[1], window[1], channels)
    return x.permute(0, 1, 3, 2, 4, 5).reshape(-1, window[0] * window[1], channels)


def from_windows(x: Tensor, window: List[int], height: int, width: int) -> Tensor:
    """The inverse: [B·G,T,C] -> [B,height,width,C]."""
    x = x.reshape(-1, height // window[0], width // window[1], window[0], window[1], x.shape[2])
    return x.permute(0, 1, 3, 2, 4, 5).reshape(-1, height, width, x.shape[5])


def regions(size: int, window: int, shift: int, like: Tensor) -> Tensor:
    """Which part of a rolled axis a token came from: what the roll brings together was not together before."""
    place = torch.arange(size, device=like.device)
    if shift == 0:
        return torch.zeros_like(place)
    return (place >= size - window).long() + (place >= size - shift).long()


def neighbours_only(rows: Tensor, columns: Tensor, window: List[int]) -> Tensor:
    """[G,1,T,T] of 0 and, for pairs that were not together before the roll, -100 as Swin's authors have it."""
    ids = (3 * rows.unsqueeze(1) + columns.unsqueeze(0)).unsqueeze(0).unsqueeze(3)
    ids = to_windows(ids, window).squeeze(2)  # [G,T]
    return (ids.unsqueeze(1) != ids.unsqueeze(2)).float().mul(-100.0).unsqueeze(1)
