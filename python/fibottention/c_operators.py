# SPDX-License-Identifier: Apache-2.0
"""torch.ops.fibottention over the C interface, for any torch from 1.13 on: the operators by a mechanism's text, with the
schemas of src/ops/operator.cpp, their shapes for torch.compile and torch.export, autograd and autocast.

Two operators do the work, attention_forward and attention_backward, for x = [q, k, v] or [qkv]. What people call is made
of them. Letters: B samples, H heads, T tokens, d channels of q and k, e of v.
"""

import math
from contextlib import contextmanager
from ctypes import byref
from typing import Any, Iterator, List, NamedTuple, Optional, Tuple

import torch
from torch import Tensor

from . import c_library

NAMED = "str attention, int cls, bool causal, int? layer, int[] grid_shape"
ARGUMENTS = "Tensor? bias, Tensor? lengths, float? scale, bool zero_masking, float dropout, Tensor? seed"
WYTHOFF = ("int wmin, int wmax, bool modified=False, int cls=1, bool causal=False, int? layer=None, "
           "str masking=\"exclude\", float? scale=None")
TEXT = ("str attention, int cls=1, bool causal=False, int? layer=None, Tensor? bias=None, str masking=\"exclude\", "
        "float? scale=None, float dropout=0.0, int[] grid_shape=[]")
SCHEMAS = [
    f"attention(Tensor q, Tensor k, Tensor v, {WYTHOFF}) -> Tensor",
    f"attention_packed(Tensor qkv, {WYTHOFF}, float dropout=0.0) -> Tensor",
    f"named_attention(Tensor q, Tensor k, Tensor v, {TEXT}) -> Tensor",
    f"named_attention_packed(Tensor qkv, {TEXT}) -> Tensor",
    f"attention_forward(Tensor[] x, {NAMED}, {ARGUMENTS}) -> (Tensor out, Tensor lse)",
    f"attention_backward(Tensor grad_out, Tensor[] x, Tensor out, Tensor lse, {NAMED}, {ARGUMENTS}, bool bias_grad) -> "
    "Tensor[]",
]
REDUCED = (torch.float16, torch.bfloat16)
library: c_library.CLibrary
registered: List[Any] = []  # torch forgets operators whose Library object is gone


class Arguments(NamedTuple):
    """The operators' arguments behind their tensors, in the order of the schemas."""

    attention: str
    cls: int
    causal: bool
    layer: Optional[int]
    grid_shape: List[int]
    bias: Optional[Tensor]
    lengths: Optional[Tensor]
    scale: Optional[float]
    zero_masking: bool
    dropout: float
    seed: Optional[Tensor]


def require(condition: bool, message: str) -> None:
    if not condition:
        raise ValueError(f"attention: {message}")


# ---- Tensors as the operators take them -------------------------------------------------------------------------------


def views_of(x: List[Tensor]) -> Tuple[Tensor, ...]:
    """q, k, v [B,H,T,·]; of a packed [B,T,3,H,d] its three views"""
    if len(x) == 3:
        return tuple(x)
    require(x[0].dim() == 5 and x[0].shape[2] == 3, f"qkv must be [batch, tokens, 3, heads, channels], got {list(x[0].shape)}")
    return tuple(x[0].select(2, part).transpose(1, 2) for part in range(3))


def check_operand(name: str, x: Tensor, q: Tensor) -> None:
    require(x.dim() == 4, f"{name} must be [batch, heads, tokens, channels], got {list(x.shape)}")
    require(x.layout == torch.strided, f"{name} must be a dense tensor, got {x.layout}")
    require(x.dtype == q.dtype, f"{name} is {x.dtype} but q is {q.dtype}; they must agree")
    require(x.device == q.device, f"{name} is on {x.device} but q is on {q.device}")
    require(x.shape[0] == q.shape[0] and x.shape[1] == q.shape[1],
            f"{name} {list(x.shape)} has another batch or number of heads than q {list(q.shape)}")


def check_tensors(q: Tensor, k: Tensor, v: Tensor, a: Arguments) -> None:
    require(q.is_floating_point(), f"q must be a real floating-point tensor, got {q.dtype}")
    for name, tensor in (("q", q), ("k", k), ("v", v)):
        check_operand(name, tensor, q)
    require(q.shape[1] > 0, f"q {list(q.shape)} has no heads")
    require(k.shape[3] == q.shape[3] and q.shape[3] > 0, f"k has {k.shape[3]} channels, q has {q.shape[3]}")
    require(max(q.shape[3], v.shape[3]) <= 512 and v.shape[3] > 0,
            f"channels must be 1 to 512, got {q.shape[3]} and {v.shape[3]}")
    require(q.shape[2] == k.shape[2] == v.shape[2],
            f"q has {q.shape[2]} tokens, k has {k.shape[2]}, v has {v.shape[2]}; they must agree")
    require(0 <= a.cls < q.shape[2], f"cls must leave a patch token: 0 to {q.shape[2] - 1} for {q.shape[2]} tokens, got {a.cls}")
    require(a.layer is None or a.layer >= 0, f"layer must be None, or 0 or more, got {a.layer}")
    if a.bias is not None:
        check_bias(q, k, a.bias)
    require(a.lengths is None or (a.lengths.shape == q.shape[:1] and a.lengths.dtype == torch.int64),
            f"lengths must be int64 [{q.shape[0]}]")


def check_bias(q: Tensor, k: Tensor, bias: Tensor) -> None:
    require(bias.dim() == 4 and bias.shape[1] in (1, q.shape[1]) and bias.shape[2:] == (q.shape[2], k.shape[2]),
            f"bias must be [groups, {q.shape[1]} or 1, {q.shape[2]}, {k.shape[2]}], got {list(bias.shape)}")
    require(bias.shape[0] > 0 and q.shape[0] % bias.shape[0] == 0,
            f"bias has {bias.shape[0]} groups, which do not divide the batch of {q.shape[0]}")
    require(bias.dtype == q.dtype and bias.device == q.device,
            f"bias is {bias.dtype} on {bias.device} but q is {q.dtype} on {q.device}")


def empty_tokens(like: Tensor, tokens: Any, channels: Any) -> Tensor:
    """[B,H,tokens,channels] in `like`'s order of dimensions: tokens before heads where it has them so."""
    batch, heads = like.shape[:2]
    if like.stride(1) < like.stride(2):
        return like.new_empty(batch, tokens, heads, channels).transpose(1, 2)
    return like.new_empty(batch, heads, tokens, channels)


def empty_outputs(q: Tensor, v: Tensor) -> Tuple[Tensor, Tensor]:
    lse = q.new_empty(q.shape[:3], dtype=torch.float32 if q.dtype in REDUCED else q.dtype)
    return empty_tokens(q, q.shape[2], v.shape[3]), lse


def laid_out_as(x: List[Tensor], out: Tensor) -> Tensor:
    """The output as the operator gives it: [B,H,T,e], or [B,T,H·e] of a packed x."""
    return out.transpose(1, 2).flatten(2) if len(x) == 1 else out


def empty_gradients(x: List[Tensor]) -> Tuple[List[Tensor], Tuple[Tensor, ...]]:
    """What backward gives, and views of it that the kernel writes."""
    if len(x) == 1:
        dqkv = x[0].new_empty(x[0].shape)
        return [dqkv], views_of([dqkv])
    made = [empty_tokens(t, t.shape[2], t.shape[3]) for t in x]
    return made, tuple(made)


def with_contiguous_channels(x: Tensor) -> Tensor:
    return x if x.shape[3] == 1 or x.stride(3) == 1 else x.contiguous()


# ---- The kernels --------------------------------------------------------------------------------------------------------


def pattern_of(q: Tensor, k: Tensor, a: Arguments) -> Any:
    """What the C functions take first, and the prefix of their names."""
    if a.attention == "full" and not a.causal:
        return "fib_dense_attention", byref(c_library.Dense(q.shape[1], q.shape[2], k.shape[2], 0)), None
    pattern = library.support(a.attention, q.shape[2] - a.cls, a.cls, q.shape[1], a.layer, a.causal, a.grid_shape)
    return "fib_attention", pattern.pointer, pattern


def call_of(q: Tensor, k: Tensor, v: Tensor, a: Arguments, lengths: Optional[Tensor]) -> c_library.Call:
    seed = 0 if a.seed is None else int(a.seed)
    return c_library.Call(
        c_library.ABI_VERSION, 1 if q.dtype == torch.float64 else 0, q.shape[0], q.shape[3], v.shape[3], c_library.array(q),
        c_library.array(k), c_library.array(v), scale_of(a), int(a.zero_masking and a.attention != "full"),
        None if lengths is None else lengths.data_ptr(), c_library.bias_array(a.bias), a.dropout, seed % 2 ** 64)


def scale_of(a: Arguments) -> float:
    """In the C interface 0 means 1/√d; a scale of nothing is one that float64 tells from 0, and scores do not."""
    return 0.0 if a.scale is None else a.scale or 1e-300


def cpu_forward(x: List[Tensor], *arguments: Any) -> Tuple[Tensor, Tensor]:
    a, (q, k, v) = Arguments(*arguments), views_of(x)
    check_tensors(q, k, v, a)
    if q.dtype in REDUCED:
        out, lse = cpu_forward([t.float() for t in x], *in_float32(a))
        return out.to(q.dtype), lse
    require(q.dtype in (torch.float32, torch.float64), f"q must be float16, bfloat16, float32 or float64, got {q.dtype}")
    out, lse = empty_outputs(q, v)
    if out.numel() > 0:
        a = with_seed(a)
        lengths = None if a.lengths is None else a.lengths.cpu().contiguous()
        q, k, v = map(with_contiguous_channels, (q, k, v))
        prefix, pointer, keep = pattern_of(q, k, a)
        library.follow_threads_of_torch()
        library.call(f"{prefix}_forward", pointer, byref(call_of(q, k, v, a, lengths)), c_library.array(out), lse.data_ptr())
    return laid_out_as(x, out), lse


def cpu_backward(grad_out: Tensor, x: List[Tensor], out: Tensor, lse: Tensor, *arguments: Any) -> List[Tensor]:
    a, bias_grad, (q, k, v) = Arguments(*arguments[:-1]), arguments[-1], views_of(x)
    made, (dq, dk, dv) = empty_gradients(x)
    dbias = torch.zeros_like(a.bias) if bias_grad and a.bias is not None else None
    if out.numel() > 0:
        if len(x) == 1:
            grad_out, out = (t.contiguous().unflatten(2, (x[0].shape[3], -1)).transpose(1, 2) for t in (grad_out, out))
        grad_out, out, q, k, v = map(with_contiguous_channels, (grad_out, out, q, k, v))
        lengths = None if a.lengths is None else a.lengths.cpu().contiguous()
        prefix, pointer, keep = pattern_of(q, k, a)
        into = c_library.Gradients(*map(c_library.array, (dq, dk, dv)), c_library.bias_array(dbias))
        library.follow_threads_of_torch()
        library.call(f"{prefix}_backward", pointer, byref(call_of(q, k, v, a, lengths)), c_library.array(out),
                     lse.data_ptr(), c_library.array(grad_out), byref(into))
    return [*made, q.new_empty(0) if dbias is None else dbias]  # a graph holds no missing tensors


def meta_forward(x: List[Tensor], *arguments: Any) -> Tuple[Tensor, Tensor]:
    a, (q, k, v) = Arguments(*arguments), views_of(x)
    check_tensors(q, k, v, a)
    out, lse = empty_outputs(q, v)
    return laid_out_as(x, out), lse


def meta_backward(grad_out: Tensor, x: List[Tensor], out: Tensor, lse: Tensor, *arguments: Any) -> List[Tensor]:
    a, bias_grad = Arguments(*arguments[:-1]), arguments[-1]
    wanted = bias_grad and a.bias is not None
    return [*empty_gradients(x)[0], torch.empty_like(a.bias) if wanted else x[0].new_empty(0)]


def composite(x: List[Tensor], *arguments: Any) -> Tuple[Tensor, Tensor]:
    """The formula in torch's own operations, in memory of all pairs: for devices without a kernel."""
    a, (q, k, v) = with_seed(Arguments(*arguments)), views_of(x)
    check_tensors(q, k, v, a)
    pattern = library.support(a.attention, q.shape[2] - a.cls, a.cls, q.shape[1], a.layer, a.causal, a.grid_shape)
    require(pattern.summaries() == 0, f"summaries have no path on {q.device} in this build: build the library for this torch")
    require(not a.zero_masking or (a.bias is None and a.lengths is None and a.dropout == 0.0 and not a.causal),
            "masking zero is refused together with causal, lengths, bias or dropout")
    scores = (q @ k.transpose(-2, -1)).to(torch.promote_types(q.dtype, torch.float32))
    scores = scores * (q.shape[3] ** -0.5 if a.scale is None else a.scale)  # [B,H,T,T]
    if a.bias is not None:
        scores = scores + a.bias.repeat(q.shape[0] // a.bias.shape[0], 1, 1, 1)
    seen = pattern.mask().to(q.device).unsqueeze(0)
    if a.lengths is not None:
        real = torch.arange(q.shape[2], device=q.device) < a.lengths.to(q.device).unsqueeze(1)  # [B,T]
        seen = seen & real[:, None, :, None] & real[:, None, None, :]
    scores = scores.masked_fill(~seen, 0.0 if a.zero_masking else -math.inf)
    lse = scores.logsumexp(-1)
    weights = (scores - lse.masked_fill(lse == -math.inf, 0.0).unsqueeze(-1)).exp()
    weights = torch.dropout(weights, a.dropout, train=a.dropout > 0.0).to(v.dtype)
    return laid_out_as(x, weights @ v), lse.detach()


# ---- Autograd and autocast ----------------------------------------------------------------------------------------------


def in_float32(a: Arguments) -> Arguments:
    return a if a.bias is None else a._replace(bias=a.bias.float())


def with_seed(a: Arguments) -> Arguments:
    """A graph draws anew in every run only with an operator that it can hold."""
    if a.dropout <= 0.0 or a.seed is not None:
        return a
    return a._replace(seed=torch.randint(2 ** 63 - 1, (), dtype=torch.int64))


@contextmanager
def below_autograd() -> Iterator[None]:
    """The next call goes to the kernel of its device."""
    guard = torch._C._AutoDispatchBelowAutograd()  # with torch 1.13 it holds for as long as it lives
    if not hasattr(guard, "__enter__"):
        try:
            yield
        finally:
            del guard
        return
    with guard:
        yield


class Attention(torch.autograd.Function):
    """attention_forward with its gradient. Tensors are arguments, so that torch notices when one is changed in place."""

    @staticmethod
    def forward(ctx: Any, a: Arguments, bias: Optional[Tensor], lengths: Optional[Tensor], seed: Optional[Tensor],
                *x: Tensor) -> Tuple[Tensor, Tensor]:
        with below_autograd():
            out, lse = torch.ops.fibottention.attention_forward(list(x), *a._replace(bias=bias, lengths=lengths, seed=seed))
        ctx.arguments = a
        ctx.bias_grad = bias is not None and bias.requires_grad
        ctx.save_for_backward(bias, lengths, seed, out, lse, *x)
        ctx.mark_non_differentiable(lse)
        ctx.set_materialize_grads(False)
        return out, lse

    @staticmethod
    def backward(ctx: Any, grad_out: Optional[Tensor], _: Any) -> Tuple[Optional[Tensor], ...]:
        bias, lengths, seed, out, lse, *x = ctx.saved_tensors
        if grad_out is None:
            return (None,) * (4 + len(x))
        a = ctx.arguments._replace(bias=bias, lengths=lengths, seed=seed)
        *made, dbias = torch.ops.fibottention.attention_backward(grad_out, x, out, lse, *a, ctx.bias_grad)
        return (None, dbias if ctx.bias_grad else None, None, None, *made)


class NoSecondDerivative(torch.autograd.Function):
    """Passes gradients on and refuses to be differentiated: what the kernels computed would count as constant."""

    @staticmethod
    def forward(ctx: Any, count: int, *tensors: Tensor) -> Tuple[Tensor, ...]:
        return tuple(t.view_as(t) for t in tensors[:count])

    @staticmethod
    def backward(ctx: Any, *_: Any) -> None:
        raise RuntimeError("fibottention::attention has no second derivative (double backward)")


def needs_gradient(*tensors: Optional[Tensor]) -> bool:
    return torch.is_grad_enabled() and any(t is not None and t.requires_grad for t in tensors)


def autograd_forward(x: List[Tensor], *arguments: Any) -> Tuple[Tensor, Tensor]:
    a = Arguments(*arguments)
    if x[0].device.type not in ("cpu", "meta"):
        return composite(x, *a)
    if not needs_gradient(*x, a.bias):
        with below_autograd():
            return torch.ops.fibottention.attention_forward(x, *a)
    if x[0].device.type == "cpu" and x[0].dtype in REDUCED:  # cast here, so that torch differentiates the casts
        out, lse = autograd_forward([t.float() for t in x], *in_float32(a))
        return out.to(x[0].dtype), lse
    a = with_seed(a)
    return Attention.apply(a._replace(bias=None, lengths=None, seed=None), a.bias, a.lengths, a.seed, *x)


def autograd_backward(grad_out: Tensor, x: List[Tensor], out: Tensor, lse: Tensor, *arguments: Any) -> List[Tensor]:
    with below_autograd():
        made = torch.ops.fibottention.attention_backward(grad_out, x, out, lse, *arguments)
    if not needs_gradient(grad_out, *x, Arguments(*arguments[:-1]).bias):
        return made
    return list(NoSecondDerivative.apply(len(made), *made, grad_out, *x))


def autocast_forward(x: List[Tensor], *arguments: Any) -> Tuple[Tensor, Tensor]:
    """q, k and v may arrive in different types; the widest is taken. The kernels compute reduced ones in float32 anyway."""
    dtype = x[0].dtype
    for tensor in x:
        dtype = torch.promote_types(dtype, tensor.dtype)
    a = Arguments(*arguments)
    bias = None if a.bias is None else a.bias.to(dtype)
    with torch.autocast(x[0].device.type, enabled=False):
        return torch.ops.fibottention.attention_forward([t.to(dtype) for t in x], *a._replace(bias=bias))


# ---- As people write it -------------------------------------------------------------------------------------------------


def attend(x: List[Tensor], attention: str, cls: int, causal: bool, layer: Optional[int], masking: str,
           scale: Optional[float], dropout: float = 0.0, bias: Optional[Tensor] = None,
           grid_shape: Optional[List[int]] = None) -> Tensor:
    require(masking in ("exclude", "zero"), f"masking must be 'exclude' or 'zero', got '{masking}'")
    return torch.ops.fibottention.attention_forward(x, attention, cls, causal, layer, grid_shape or [], bias, None, scale,
                                                    masking == "zero", dropout, None)[0]


def wythoff(wmin: int, wmax: int, modified: bool) -> str:
    """The paper's mechanism by its parameters, as a text of the registry."""
    return f"fibottention{'-modified' if modified else ''}:wmin={wmin},wmax={wmax}"


def attention(q, k, v, wmin, wmax, modified=False, cls=1, causal=False, layer=None, masking="exclude", scale=None):
    return attend([q, k, v], wythoff(wmin, wmax, modified), cls, causal, layer, masking, scale)


def attention_packed(qkv, wmin, wmax, modified=False, cls=1, causal=False, layer=None, masking="exclude", scale=None,
                     dropout=0.0):
    return attend([qkv], wythoff(wmin, wmax, modified), cls, causal, layer, masking, scale, dropout)


def named_attention(q, k, v, attention, cls=1, causal=False, layer=None, bias=None, masking="exclude", scale=None,
                    dropout=0.0, grid_shape=()):
    return attend([q, k, v], attention, cls, causal, layer, masking, scale, dropout, bias, list(grid_shape))


def named_attention_packed(qkv, attention, cls=1, causal=False, layer=None, bias=None, masking="exclude", scale=None,
                           dropout=0.0, grid_shape=()):
    return attend([qkv], attention, cls, causal, layer, masking, scale, dropout, bias, list(grid_shape))


IMPLEMENTATIONS = {
    "attention_forward": {"CPU": cpu_forward, "Meta": meta_forward, "Autograd": autograd_forward,
                          "CompositeExplicitAutograd": composite, "AutocastCPU": autocast_forward,
                          "AutocastCUDA": autocast_forward},
    "attention_backward": {"CPU": cpu_backward, "Meta": meta_backward, "Autograd": autograd_backward},
    **{f.__name__: {"CompositeImplicitAutograd": f}
       for f in (attention, attention_packed, named_attention, named_attention_packed)},
}


def register(loaded: c_library.CLibrary) -> None:
    """Gives the operators to torch. They stay for as long as the process does."""
    global library
    library = loaded
    definitions = torch.library.Library("fibottention", "DEF")
    tags = {"tags": (torch.Tag.pt2_compliant_tag,)} if hasattr(torch.Tag, "pt2_compliant_tag") else {}
    for schema in SCHEMAS:
        definitions.define(schema, **tags)
    for name, kernels in IMPLEMENTATIONS.items():
        for key, kernel in kernels.items():
            definitions.impl(name, kernel, key)
    registered.append(definitions)
