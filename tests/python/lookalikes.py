# SPDX-License-Identifier: Apache-2.0
"""Attention as other libraries lay it out, written anew and small: the names and shapes are theirs, nothing else."""

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
