# SPDX-License-Identifier: Apache-2.0
"""Loads a ViT from a safetensors file without this project's code and compares its logits with given ones.

vit_reference.py WEIGHTS.safetensors HEADS IMAGES.npy LOGITS.npy; exit 0 if they agree, 77 without torch.
"""
import json
import struct
import sys

try:
    import numpy as np
    import torch
    import torch.nn.functional as F
except ImportError as missing:
    print(missing)
    sys.exit(77)


def read_safetensors(path):
    with open(path, "rb") as file:
        (length,) = struct.unpack("<Q", file.read(8))
        header = json.loads(file.read(length))
        data = file.read()
    header.pop("__metadata__", None)
    dtypes = {"F32": np.float32, "F64": np.float64}
    return {name: torch.from_numpy(np.frombuffer(data[slice(*t["data_offsets"])], dtypes[t["dtype"]]).reshape(t["shape"]).copy())
            for name, t in header.items()}


def attention(x, w, prefix, heads):
    B, T, D = x.shape
    q, k, v = F.linear(x, w[prefix + "qkv.weight"], w[prefix + "qkv.bias"]).reshape(B, T, 3, heads, D // heads).permute(2, 0, 3, 1, 4)
    p = (q @ k.transpose(-2, -1) * (D // heads) ** -0.5).softmax(-1)
    return F.linear((p @ v).transpose(1, 2).reshape(B, T, D), w[prefix + "proj.weight"], w[prefix + "proj.bias"])


def norm(x, w, name):
    return F.layer_norm(x, x.shape[-1:], w[name + ".weight"], w[name + ".bias"], 1e-6)


def vit(x, w, heads):
    patches = w["patch_embed.proj.weight"]
    x = F.conv2d(x, patches, w["patch_embed.proj.bias"], stride=patches.shape[-1]).flatten(2).transpose(1, 2)
    x = torch.cat([w["cls_token"].expand(len(x), -1, -1), x], 1) + w["pos_embed"]
    for i in range(sum(name.endswith("norm1.weight") for name in w)):
        b = f"blocks.{i}."
        x = x + attention(norm(x, w, b + "norm1"), w, b + "attn.", heads)
        h = F.gelu(F.linear(norm(x, w, b + "norm2"), w[b + "mlp.fc1.weight"], w[b + "mlp.fc1.bias"]))
        x = x + F.linear(h, w[b + "mlp.fc2.weight"], w[b + "mlp.fc2.bias"])
    return F.linear(norm(x, w, "norm")[:, 0], w["head.weight"], w["head.bias"])


if __name__ == "__main__":
    weights, heads, images, logits = sys.argv[1:]
    expected = torch.from_numpy(np.load(logits))
    difference = (vit(torch.from_numpy(np.load(images)), read_safetensors(weights), int(heads)) - expected).abs().max().item()
    print(f"largest difference {difference:.1e}")
    sys.exit(0 if difference < 1e-10 else 1)
