# SPDX-License-Identifier: Apache-2.0
"""Attention as other libraries lay it out, written anew and small: the names and shapes are theirs, nothing else."""

import sys
import types
from contextlib import contextmanager

import torch
from torch import nn


def mixed(q, k, v, scale, bias=0.0):
    """[B,H,T,d] -> [B,T,H·d]"""
    return ((q @ k.transpose(-2, -1) * scale + bias).softmax(-1) @ v).transpose(1, 2).flatten(2)


class NormedAttention(nn.Module):
    """timm's with norms of q and k, and dropout modules."""

    def __init__(self, dim=24, num_heads=3, attn_drop=0.0):
        super().__init__()
        self.num_heads, self.head_dim, self.scale, self.fused_attn = num_heads, dim // num_heads, 0.3, True
        self.qkv, self.proj = nn.Linear(dim, 3 * dim), nn.Linear(dim, dim)
        self.q_norm, self.k_norm, self.norm = nn.LayerNorm(dim // num_heads), nn.LayerNorm(dim // num_heads), nn.Identity()
        self.attn_drop, self.proj_drop = nn.Dropout(attn_drop), nn.Dropout(0.0)

    def forward(self, x, attn_mask=None):
        b, t, _ = x.shape
        q, k, v = self.qkv(x).reshape(b, t, 3, self.num_heads, -1).permute(2, 0, 3, 1, 4).unbind(0)
        return self.proj_drop(self.proj(self.norm(mixed(self.q_norm(q), self.k_norm(k), v, self.scale))))


class HeadsBeforeThree(NormedAttention):
    """The same names over another order of channels: [H,3,d] instead of [3,H,d]."""

    def forward(self, x):
        b, t, _ = x.shape
        q, k, v = self.qkv(x).reshape(b, t, self.num_heads, 3, -1).permute(3, 0, 2, 1, 4).unbind(0)
        return self.proj(mixed(self.q_norm(q), self.k_norm(k), v, self.scale))


class Temperature(NormedAttention):
    """The same names and a parameter more."""

    def __init__(self):
        super().__init__()
        self.temperature = nn.Parameter(torch.ones(3, 1, 1))


class WindowAttention(nn.Module):
    """timm's and its authors' Swin: windows are samples, the mask of shifted windows is an argument."""

    def __init__(self, dim=24, window=4, num_heads=3):
        super().__init__()
        self.num_heads, self.window_size, self.scale = num_heads, (window, window), (dim // num_heads) ** -0.5
        self.qkv, self.proj = nn.Linear(dim, 3 * dim), nn.Linear(dim, dim)
        self.attn_drop, self.proj_drop, self.softmax = nn.Dropout(0.0), nn.Dropout(0.0), nn.Softmax(-1)
        self.relative_position_bias_table = nn.Parameter(torch.randn((2 * window - 1) ** 2, num_heads))
        place = torch.stack(torch.meshgrid(torch.arange(window), torch.arange(window), indexing="ij")).flatten(1)
        distance = place[:, :, None] - place[:, None, :] + window - 1
        self.register_buffer("relative_position_index", distance[0] * (2 * window - 1) + distance[1])

    def forward(self, x, mask=None):
        b, t, _ = x.shape
        q, k, v = self.qkv(x).reshape(b, t, 3, self.num_heads, -1).permute(2, 0, 3, 1, 4).unbind(0)
        bias = self.relative_position_bias_table[self.relative_position_index].permute(2, 0, 1)
        if mask is not None:
            bias = (bias + mask.unsqueeze(1)).repeat(b // mask.shape[0], 1, 1, 1)
        return self.proj_drop(self.proj(mixed(q, k, v, self.scale, bias)))


class Windows(nn.Module):
    """Two windows an image, with a mask for each."""

    def __init__(self):
        super().__init__()
        self.attn = WindowAttention()
        mask = torch.zeros(2, 16, 16)
        mask[1, :8, 8:] = mask[1, 8:, :8] = -100.0
        self.register_buffer("mask", mask)

    def forward(self, x):
        return self.attn(x, mask=self.mask)


class ViTSelfAttention(nn.Module):
    """Hugging Face's, which gives a tuple of one, or of two in newer versions."""

    def __init__(self, dim=24, heads=3, outputs=1):
        super().__init__()
        self.num_attention_heads, self.attention_head_size, self.outputs = heads, dim // heads, outputs
        self.query, self.key, self.value = (nn.Linear(dim, dim) for _ in range(3))
        self.dropout = nn.Dropout(0.0)

    def forward(self, hidden_states, head_mask=None, output_attentions=False):
        b, t, _ = hidden_states.shape
        q, k, v = (part(hidden_states).view(b, t, self.num_attention_heads, -1).transpose(1, 2)
                   for part in (self.query, self.key, self.value))
        return (mixed(q, k, v, self.attention_head_size ** -0.5), torch.zeros(1))[:self.outputs]


class ViTAttention(nn.Module):
    """What stands around it: the projection is a module of its own."""

    def __init__(self, outputs=1):
        super().__init__()
        self.cls_token = nn.Parameter(torch.zeros(1, 1, 24))
        self.attention = ViTSelfAttention(outputs=outputs)
        self.output = nn.Module()
        self.output.dense = nn.Linear(24, 24)

    def forward(self, x):
        outputs = self.attention(x, None, False)
        return self.output.dense(outputs[0])


class StrangeAttention(nn.Module):
    """Called so, and like nothing known."""

    def __init__(self):
        super().__init__()
        self.w = nn.Parameter(torch.ones(3))


# ---- transformers and timm as they ask for an attention by its name -------------------------------------------------------


class AttentionInterface:
    """transformers': a table of functions, shared by all models."""

    functions = {}

    @classmethod
    def register(cls, key, value):
        cls.functions[key] = value


class AttentionMaskInterface(AttentionInterface):
    functions = {}


class Config:
    """Of a Hugging Face model, which its layers share."""

    def __init__(self, implementation, model_type="vit", **more):
        self._attn_implementation, self.model_type = implementation, model_type
        self.__dict__.update(more)


class NamedSelfAttention(nn.Module):
    """transformers', newer: what computes is looked up by name."""

    def __init__(self, config, dim=24, heads=3, key_heads=3, is_causal=False):
        super().__init__()
        self.config, self.heads, self.key_heads, self.is_causal = config, heads, key_heads, is_causal
        self.scaling = (dim // heads) ** -0.5
        self.query = nn.Linear(dim, dim)
        self.key, self.value = (nn.Linear(dim, dim // heads * key_heads) for _ in range(2))

    def forward(self, x, mask=None):
        b, t, _ = x.shape
        q, k, v = (part(x).view(b, t, -1, 8).transpose(1, 2) for part in (self.query, self.key, self.value))
        attend = AttentionInterface.functions[self.config._attn_implementation]
        out, _ = attend(self, q, k, v, mask, is_causal=self.is_causal, scaling=self.scaling, dropout=0.0)
        return out.reshape(b, t, -1)


class TimmBlock(nn.Module):
    """timm's, which makes what stands under a name and calls it with a mask and causality."""

    def __init__(self, attn_layer, dim=24, num_heads=3, qk_norm=False, device=None, dtype=None):
        super().__init__()
        made = sys.modules["timm.models.vision_transformer"].ATTN_LAYERS[attn_layer]
        self.norm1 = nn.LayerNorm(dim)
        self.attn = made(dim, num_heads=num_heads, qkv_bias=True, qk_norm=qk_norm, scale_norm=False, proj_bias=True,
                         attn_drop=0.0, proj_drop=0.0, norm_layer=nn.LayerNorm, device=device, dtype=dtype)

    def forward(self, x, attn_mask=None, is_causal=False):
        return x + self.attn(self.norm1(x), attn_mask=attn_mask, is_causal=is_causal)


@contextmanager
def installed(modules):
    """As if these were installed, with what stands in them."""
    made = {name: types.ModuleType(name) for name in modules}
    for name, attributes in modules.items():
        made[name].__dict__.update(attributes)
    before = {name: sys.modules.get(name) for name in made}
    sys.modules.update(made)
    try:
        yield
    finally:
        for name, module in before.items():
            if module is None:
                del sys.modules[name]
            else:
                sys.modules[name] = module
