# SPDX-License-Identifier: Apache-2.0
"""torchvision's weights under the names that `fib` reads, timm's, and the file it reads them from."""

import json
import re

import numpy

VIT_NAMES = [(r"^conv_proj\.", "patch_embed.proj."), (r"^class_token$", "cls_token"), (r"^encoder\.pos_embedding$", "pos_embed"),
             (r"^encoder\.layers\.encoder_layer_(\d+)\.", r"blocks.\1."), (r"\.ln_(\d)\.", r".norm\1."),
             (r"\.self_attention\.in_proj_", ".attn.qkv."), (r"\.self_attention\.out_proj\.", ".attn.proj."),
             (r"\.mlp\.0\.", ".mlp.fc1."), (r"\.mlp\.3\.", ".mlp.fc2."), (r"^encoder\.ln\.", "norm."),
             (r"^heads\.head\.", "head.")]


def swin_block(match):
    """features.1 and 3 and 5 and 7 are stages; those between them end the stage before."""
    return f"layers.{(int(match[1]) - 1) // 2}.blocks.{match[2]}."


def swin_merging(match):
    return f"layers.{int(match[1]) // 2 - 1}.downsample."


SWIN_NAMES = [(r"^features\.0\.0\.", "patch_embed.proj."), (r"^features\.0\.2\.", "patch_embed.norm."),
              (r"^features\.(\d)\.(\d+)\.", swin_block), (r"^features\.(\d)\.(?=norm|reduction)", swin_merging),
              (r"\.mlp\.0\.", ".mlp.fc1."), (r"\.mlp\.3\.", ".mlp.fc2.")]


def renamed(state, names):
    result = {}
    for name, tensor in state.items():
        if name.endswith("relative_position_index"):
            continue  # follows from the window
        for pattern, replacement in names:
            name = re.sub(pattern, replacement, name)
        result[name] = tensor
    return result


def save(state, path):
    """The safetensors format: the header's length, the header in JSON, then the bytes."""
    header, parts, end = {}, [], 0
    for name, tensor in state.items():
        part = tensor.detach().numpy().astype(numpy.float32).tobytes()
        header[name] = {"dtype": "F32", "shape": list(tensor.shape), "data_offsets": [end, end + len(part)]}
        parts.append(part)
        end += len(part)
    text = json.dumps(header).encode()
    path.write_bytes(len(text).to_bytes(8, "little") + text + b"".join(parts))
