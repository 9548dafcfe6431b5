# SPDX-License-Identifier: Apache-2.0
"""The library's C interface (include/fibottention/fibottention.h and mechanisms.h) by ctypes: patterns, and attention on
the memory of tensors. It knows nothing of torch's dispatcher; `c_operators` does.

A call releases Python's lock, so threads compute side by side.
"""

import ctypes
import json
from collections import OrderedDict
from ctypes import POINTER, byref, c_char_p, c_double, c_int32, c_int64, c_uint64, c_void_p
from pathlib import Path
from threading import Lock
from typing import Any, List, Optional, Sequence, Tuple

import torch
from torch import Tensor

NAME = "libfibottention_c.so"
ABI_VERSION = 2


class Array(ctypes.Structure):
    _fields_ = [("data", c_void_p), ("batch_stride", c_int64), ("head_stride", c_int64), ("token_stride", c_int64)]


class Bias(ctypes.Structure):
    _fields_ = [("data", c_void_p), ("groups", c_int64), ("group_stride", c_int64), ("head_stride", c_int64),
                ("query_stride", c_int64), ("key_stride", c_int64)]


class Call(ctypes.Structure):
    _fields_ = [("abi_version", c_int32), ("type", c_int32), ("batch", c_int64), ("dim", c_int64), ("value_dim", c_int64),
                ("q", Array), ("k", Array), ("v", Array), ("scale", c_double), ("masking", c_int32),
                ("lengths", c_void_p), ("bias", Bias), ("dropout", c_double), ("dropout_seed", c_uint64)]


class Gradients(ctypes.Structure):
    _fields_ = [("dq", Array), ("dk", Array), ("dv", Array), ("dbias", Bias)]


class Geometry(ctypes.Structure):
    _fields_ = [("patches", c_int64), ("cls", c_int64), ("heads", c_int64), ("layer", c_int64), ("causal", c_int32),
                ("height", c_int64), ("width", c_int64), ("frames", c_int64)]


class Dense(ctypes.Structure):
    """Every query with every key; in the place of a pattern."""
    _fields_ = [("heads", c_int64), ("query_tokens", c_int64), ("key_tokens", c_int64), ("causal", c_int32)]


STATUS = {  # functions that may fail, and what they take
    "fib_pattern_from_spec": [c_char_p, POINTER(Geometry), POINTER(c_void_p)],
    "fib_pattern_list_pairs": [c_void_p, c_int64, c_void_p, c_int64, POINTER(c_int64)],
    "fib_mechanism_check": [c_char_p, POINTER(c_char_p), POINTER(c_int32)],
    "fib_attention_forward": [c_void_p, POINTER(Call), Array, c_void_p],
    "fib_attention_backward": [c_void_p, POINTER(Call), Array, c_void_p, Array, POINTER(Gradients)],
    "fib_dense_attention_forward": [POINTER(Dense), POINTER(Call), Array, c_void_p],
    "fib_dense_attention_backward": [POINTER(Dense), POINTER(Call), Array, c_void_p, Array, POINTER(Gradients)],
    "fib_set_num_threads": [c_int32],
}
QUERIES = {  # what they take, what they give
    "fib_abi_version": ([], c_int32), "fib_last_error": ([], c_char_p), "fib_mechanisms": ([], c_char_p),
    "fib_pattern_free": ([c_void_p], None), "fib_pattern_memory": ([c_void_p], c_int64),
    "fib_pattern_offsets": ([c_void_p, c_int64, POINTER(c_int64)], POINTER(c_int64)),
    "fib_pattern_window": ([c_void_p, c_int64], c_int64), "fib_pattern_diagonal": ([c_void_p, c_int64], c_int32),
    "fib_pattern_pairs": ([c_void_p, c_int64], c_int64), "fib_pattern_patch_pairs": ([c_void_p], c_int64),
    "fib_pattern_neighbor_pairs": ([c_void_p, c_int64], c_int64), "fib_pattern_summaries": ([c_void_p], c_int64),
    "fib_pattern_pruning_ratio": ([c_void_p], c_double),
}
ERRORS = {1: ValueError, 2: MemoryError, 3: RuntimeError}


class CLibrary:
    """The loaded library. What it refuses is raised as the exception of its kind, with its one line."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.functions = ctypes.CDLL(str(path))
        for name, arguments in STATUS.items():
            self.declare(name, arguments, c_int32)
        for name, (arguments, result) in QUERIES.items():
            self.declare(name, arguments, result)
        version = self.functions.fib_abi_version()
        if version != ABI_VERSION:
            raise OSError(f"its binary interface has version {version}, this package wants {ABI_VERSION}")
        self.own_threads = openmp_libraries() > 1

    def declare(self, name: str, arguments: Sequence[Any], result: Any) -> None:
        function = getattr(self.functions, name)
        function.argtypes, function.restype = list(arguments), result

    def call(self, name: str, *arguments: Any) -> None:
        status = getattr(self.functions, name)(*arguments)
        if status != 0:
            raise ERRORS.get(status, RuntimeError)(self.functions.fib_last_error().decode())

    def mechanisms(self) -> List[List[str]]:
        """Name, summary, then key, default and help of each option."""
        listed = json.loads(self.functions.fib_mechanisms())
        return [[m["name"], m["summary"], *(o[key] for o in m["options"] for key in ("key", "default", "help"))]
                for m in listed]

    def check_mechanism(self, text: str) -> Tuple[str, str]:
        spec, masking = c_char_p(), c_int32()
        self.call("fib_mechanism_check", text.encode(), byref(spec), byref(masking))
        return (spec.value or b"").decode(), "zero" if masking.value == 1 else "exclude"

    def support(self, attention: str, tokens: int, cls: int, heads: int, layer: Optional[int], causal: bool,
                grid_shape: Sequence[int]) -> "Pattern":
        return patterns.find(self, (attention, tokens, cls, heads, -1 if layer is None else layer, causal, tuple(grid_shape)))

    def follow_threads_of_torch(self) -> None:
        """Where torch has an OpenMP of its own, as torch's wheels do, ours would not know of torch.set_num_threads."""
        if self.own_threads:
            self.call("fib_set_num_threads", torch.get_num_threads())


def openmp_libraries() -> int:
    """How many are in this process."""
    with open("/proc/self/maps", encoding="utf-8") as maps:
        files = {line.split()[-1] for line in maps if "/" in line}
    return sum(Path(file).name.startswith(("libgomp", "libomp", "libiomp")) for file in files)


class Pattern:
    """Which query meets which key: has the methods of torch.classes.fibottention.Support."""

    def __init__(self, library: CLibrary, key: Tuple[Any, ...]) -> None:
        attention, self.patches, self.cls, self.number_of_heads, layer, causal, grid_shape = key
        if grid_shape and len(grid_shape) not in (2, 3):
            raise ValueError("attention: grid_shape must be [height, width] or [height, width, frames], got "
                             f"{list(grid_shape)}")
        self.library, self.key, self.pointer = library, key, c_void_p()
        grid = [*grid_shape, 1][:3] if grid_shape else [0, 0, 0]
        geometry = Geometry(self.patches, self.cls, self.number_of_heads, layer, causal, *grid)
        library.call("fib_pattern_from_spec", attention.encode(), byref(geometry), byref(self.pointer))

    def __del__(self) -> None:
        if self.pointer:
            self.library.functions.fib_pattern_free(self.pointer)

    def ask(self, what: str, *arguments: Any) -> Any:
        return getattr(self.library.functions, f"fib_pattern_{what}")(self.pointer, *arguments)

    def heads(self) -> int:
        return self.number_of_heads

    def window(self, head: int) -> int:
        return self.ask("window", head)

    def offsets(self, head: int) -> List[int]:
        count = c_int64()
        values = self.ask("offsets", head, byref(count))
        return [values[i] for i in range(count.value)]

    def diagonal(self, head: int) -> bool:
        return self.ask("diagonal", head) == 1

    def pairs(self, head: int) -> Tensor:
        count = c_int64()
        self.library.call("fib_pattern_list_pairs", self.pointer, head, None, 0, byref(count))
        pairs = torch.empty(count.value, 2, dtype=torch.int64)
        self.library.call("fib_pattern_list_pairs", self.pointer, head, pairs.data_ptr(), count.value, byref(count))
        return pairs

    def mask(self) -> Tensor:
        tokens = self.cls + self.patches
        mask = torch.zeros(self.number_of_heads, tokens, tokens, dtype=torch.bool)
        for head in range(self.number_of_heads):
            queries, keys = self.pairs(head).unbind(1)
            mask[head, queries, keys] = True
        return mask

    def neighbor_pairs(self, head: int) -> int:
        return self.ask("neighbor_pairs", head)

    def summaries(self) -> int:
        return self.ask("summaries")

    def patch_pairs(self) -> int:
        return self.ask("patch_pairs")

    def pruning_ratio(self) -> float:
        return self.ask("pruning_ratio")

    def pruning_ratio_with_cls(self) -> float:
        return 1.0 - self.ask("pairs", -1) / (self.number_of_heads * (self.cls + self.patches) ** 2)


class Patterns:
    """Made once for the same arguments; where they take too much, the one used longest ago makes room."""

    most, most_bytes = 512, 1 << 30

    def __init__(self) -> None:
        self.lock, self.known, self.bytes = Lock(), OrderedDict(), 0

    def find(self, library: CLibrary, key: Tuple[Any, ...]) -> Pattern:
        with self.lock:
            if key not in self.known:
                self.known[key] = Pattern(library, key)
                self.bytes += self.known[key].ask("memory")
            self.known.move_to_end(key)
            while len(self.known) > 1 and (len(self.known) > self.most or self.bytes > self.most_bytes):
                self.bytes -= self.known.popitem(last=False)[1].ask("memory")
            return self.known[key]


patterns = Patterns()


def array(tensor: Tensor) -> Array:
    """[B,H,T,d] whose channels are contiguous"""
    return Array(tensor.data_ptr(), *tensor.stride()[:3])


def bias_array(bias: Optional[Tensor]) -> Bias:
    if bias is None:
        return Bias(groups=1)
    groups, heads, queries, keys = bias.stride()
    return Bias(bias.data_ptr(), bias.shape[0], groups, 0 if bias.shape[1] == 1 else heads, queries, keys)
