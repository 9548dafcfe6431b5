# SPDX-License-Identifier: Apache-2.0
"""Gives a model that people already have another attention, keeping its weights, and takes it back."""

import warnings
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any, Dict, Iterable, Iterator, List, NamedTuple, Optional, Sequence, Set, Tuple, Type, TypeVar

import torch
from torch import Tensor, nn
from torch.nn.utils import parametrize

from .layouts import LAYOUTS, Exchanged
from .registry import checked, first_line

Model = TypeVar("Model", bound=nn.Module)

# Tokens that stand before the patches, as torchvision, timm and Hugging Face name them.
CLASS_TOKENS = ("class_token", "cls_token", "dist_token", "distillation_token", "reg_token", "register_tokens")

# By how much an exchanged module may differ from its own while the mechanism is still `full`.
TOLERANCES = {torch.float64: 1e-9, torch.float32: 1e-4, torch.float16: 2e-2, torch.bfloat16: 5e-2}


@dataclass(frozen=True)
class Layer:
    """An attention of a model: where it stands, what it computes, and why it cannot be exchanged, where it cannot."""

    index: Optional[int]
    name: str
    attention: str
    reason: str = ""

    def __str__(self) -> str:
        place = "  -" if self.index is None else f"{self.index:3d}"
        return f"{place}  {self.name}: {self.attention}" + (f" ({self.reason})" if self.reason else "")


class Description(List[Layer]):
    """The layers of a model; as a text, in a prompt and for `in`, one line each."""

    def __str__(self) -> str:
        return "\n".join(str(layer) for layer in self)

    __repr__ = __str__

    def __contains__(self, what: object) -> bool:
        return what in str(self) if isinstance(what, str) else super().__contains__(what)

    def one_line(self) -> str:
        return "; ".join(str(layer).strip() for layer in self) or "layers names none"


def convert(model: Model, attention: str = "fibottention", *, layers: Optional[Iterable[int]] = None,
            cls: Optional[int] = None, grid_shape: Sequence[int] = (), **options: Any) -> Model:
    """Exchanges the attention of a model, in place, and returns the model.

    `attention` is a mechanism of the registry, NAME or NAME:key=value,…, and `options` are further options of it, such as
    wmin and wmax. `layers` names the layers to exchange, counted from 0 in the model's order, below 0 from its end; all of
    them by default. `cls` is the number of class tokens, found in the model where it is not given. `grid_shape`, (height,
    width), is how its patches lie where they are no square, for the options `grid` and `summaries`.

    torch's MultiheadAttention as in torchvision's ViT, torchvision's and timm's Swin, timm's Attention and what looks like
    it (qkv, proj, num_heads), and Hugging Face's ViT are known. Each is tried first, with full attention on a few random
    tokens: what does not give the module's own result is left as it is, with a warning that says why; so is what cannot be
    exchanged. `describe` tells of every layer.

    >>> import torchvision
    >>> model = torchvision.models.VisionTransformer(32, 4, num_layers=2, num_heads=3, hidden_dim=48, mlp_dim=96)
    >>> model = convert(model, "fibottention", wmax=21, layers=[1])
    >>> print(describe(model))
      0  encoder.layers.encoder_layer_0.self_attention: its own (MultiheadAttention)
      1  encoder.layers.encoder_layer_1.self_attention: fibottention:wmax=21 (cls 1)
    """
    text, masking = checked(attention, options)
    found = survey(model)
    chosen = selected(len(found), layers)
    tokens = class_tokens(model) if cls is None else cls
    refused = []
    for index, (name, module, layout) in enumerate(found):
        if index in chosen:
            reason = exchange(module, layout, Placement(text, masking, tokens, index, list(grid_shape)), model)
            if reason:
                refused.append(left(index, name, module, reason))
    if len(refused) == len(chosen):
        raise ValueError("no attention could be exchanged: " + Description(refused[:3]).one_line())
    if refused + strangers(model):
        warnings.warn(f"left as they are:\n{Description(refused + strangers(model))}", stacklevel=2)
    return model


def restore(model: Model) -> Model:
    """Gives every attention of the model back as it was before `convert`, with the weights that it has now."""
    for module in model.modules():
        if isinstance(module, Exchanged):
            give_back(module)
    return model


def describe(model: nn.Module) -> "Description":
    """Every attention of the model: a text of one line each, and a list of `Layer`."""
    tokens = class_tokens(model)
    lines = Description(described(index, *entry, model=model, tokens=tokens) for index, entry in enumerate(survey(model)))
    lines.extend(strangers(model))
    return lines


@dataclass(frozen=True)
class Placement:
    """What is put in the place of a module's own attention, and where it stands."""

    text: str
    masking: str
    cls: int
    layer: int
    grid_shape: List[int] = field(default_factory=list)


Entry = Tuple[str, nn.Module, Type[Exchanged]]


def survey(model: nn.Module) -> List[Entry]:
    """The attentions that look like something known, in the model's order: name, module, layout."""
    entries = []
    for name, module in model.named_modules():
        layout = type(module) if isinstance(module, Exchanged) else layout_of(module)
        if layout is not None:
            entries.append((name or "model", module, layout))
    return entries


def layout_of(module: nn.Module) -> Optional[Type[Exchanged]]:
    return next((layout for layout in LAYOUTS if layout.looks_like(module)), None)


def strangers(model: nn.Module) -> List[Layer]:
    """What is called an attention, learns, and neither is, holds nor belongs to one that is known or named already."""
    known = {id(module) for _, module, _ in survey(model)}
    holders = {id(m) for m in model.modules() if any(id(inner) in known for inner in m.modules())}
    seen = {id(inner) for _, module, _ in survey(model) for inner in module.modules()}
    found = []
    for name, module in model.named_modules():
        if id(module) in seen | holders or "attention" not in type_name(module).lower():
            continue
        if next(module.parameters(), None) is not None:
            found.append(left(None, name, module, stranger_reason(module)))
            seen.update(id(inner) for inner in module.modules())
    return found


def stranger_reason(module: nn.Module) -> str:
    scripted = isinstance(module, torch.jit.ScriptModule)
    return "it is scripted: convert first, then script" if scripted else "no layout that is known"


def type_name(module: nn.Module) -> str:
    """A scripted module's is that of what it was made from."""
    return str(getattr(module, "original_name", type(module).__name__))


def left(index: Optional[int], name: str, module: nn.Module, reason: str) -> Layer:
    return Layer(index, name, f"its own ({type_name(module)})", reason)


def described(index: int, name: str, module: nn.Module, layout: Type[Exchanged], *, model: nn.Module,
              tokens: int) -> Layer:
    if isinstance(module, Exchanged):
        masking = "" if module.fib_masking == "exclude" else f", masking {module.fib_masking}"
        return Layer(index, name, f"{module.fib_attention} (cls {module.fib_cls}{masking})")
    reason = refusal(module, layout, model) or tried(module, layout, tokens).reason
    return left(index, name, module, reason)


def selected(count: int, layers: Optional[Iterable[int]]) -> Set[int]:
    if count == 0:
        raise ValueError("the model has no attention that is known here; describe(model) lists what it has")
    if layers is None:
        return set(range(count))
    wanted = list(layers)
    outside = [index for index in wanted if not -count <= index < count]
    if outside:
        raise ValueError(f"layers must be within {-count} to {count - 1} for the {count} attentions of this model, "
                         f"got {outside}")
    return {index % count for index in wanted}


def class_tokens(model: nn.Module) -> int:
    """As the model says it, or as its tokens are named."""
    said = getattr(model, "num_prefix_tokens", None)
    if isinstance(said, int):
        return said
    tensors = dict(model.named_parameters())
    return sum(tensor.shape[1] for name, tensor in tensors.items()
               if name.rpartition(".")[2] in CLASS_TOKENS and tensor.dim() == 3)


def exchange(module: nn.Module, layout: Type[Exchanged], mechanism: Placement, model: nn.Module) -> str:
    """Exchanges a module, whatever it has now; says why where it cannot."""
    if isinstance(module, Exchanged):
        give_back(module)
    reason = refusal(module, layout, model) or misfit(module, layout, mechanism)
    if reason:
        return reason
    trial = tried(module, layout, mechanism.cls)
    if not trial.reason:
        take_over(module, layout, mechanism, trial.outputs)
    return trial.reason


def take_over(module: nn.Module, layout: Type[Exchanged], mechanism: Placement, outputs: int = 1) -> None:
    cls = 0 if layout.takes_bias else mechanism.cls  # windows have no class tokens
    attributes = {"fib_attention": mechanism.text, "fib_masking": mechanism.masking, "fib_cls": cls,
                  "fib_layer": mechanism.layer, "fib_outputs": outputs, "fib_original": type(module),
                  "fib_grid_shape": [] if layout.takes_bias else mechanism.grid_shape,  # windows are squares
                  **layout.settings(module)}
    module.__class__ = layout
    module.__dict__.update(attributes)


def give_back(module: Exchanged) -> None:
    module.__class__ = module.fib_original
    for name in [name for name in module.__dict__ if name.startswith("fib_")]:
        del module.__dict__[name]


def refusal(module: nn.Module, layout: Type[Exchanged], model: nn.Module) -> str:
    if parametrize.is_parametrized(module):
        return "it is parametrized, which lives in its class"
    for outer in model.modules():
        if isinstance(outer, nn.TransformerEncoderLayer) and outer.self_attn is module:
            return "nn.TransformerEncoderLayer computes attention itself when it evaluates"
    return layout.refusal(module)


def misfit(module: nn.Module, layout: Type[Exchanged], mechanism: Placement) -> str:
    if mechanism.masking == "zero" and layout.takes_bias:
        return "masking=zero does not go with a bias for each pair"
    if "summaries=" in mechanism.text and "summaries=none" not in mechanism.text and layout.takes_bias:
        return "summaries do not go with a bias for each pair"
    if mechanism.masking == "zero" and layout.settings(module)["fib_dropout"] > 0.0:
        return "masking=zero does not go with dropout of attention"
    return ""


class Trial(NamedTuple):
    """What came of trying a layout: why it does not do, and how many things the module's own forward gives."""

    reason: str
    outputs: int = 1


def tried(module: nn.Module, layout: Type[Exchanged], cls: int) -> Trial:
    """The layout with full attention against the module's own."""
    try:
        with evaluating(module), torch.no_grad():
            example = layout.example(module, cls)
            own = as_tuple(module.forward(*example))
            with exchanged(module, layout, Placement("full", "exclude", cls, 0)):
                ours = as_tuple(module.forward(*example))
    except Exception as reason:  # whatever somebody else's code may raise
        return Trial(f"it could not be tried: {first_line(reason)}")
    return Trial(difference(own[0], ours[0]), len(own))


def as_tuple(outputs: Any) -> Tuple[Any, ...]:
    return outputs if isinstance(outputs, tuple) else (outputs,)


def difference(own: Any, ours: Tensor) -> str:
    if not isinstance(own, Tensor) or own.shape != ours.shape:
        given = list(own.shape) if isinstance(own, Tensor) else type(own).__name__
        return f"it gives {given} where {list(ours.shape)} was expected"
    if own.is_meta:
        return ""
    worst = float((own - ours).abs().max() / own.abs().max().clamp_min(1e-30))
    if worst <= TOLERANCES.get(own.dtype, 1e-4):
        return ""
    return f"it computes something else, by {worst:.1g} of its largest value"


@contextmanager
def exchanged(module: nn.Module, layout: Type[Exchanged], mechanism: Placement) -> Iterator[None]:
    take_over(module, layout, mechanism)
    try:
        yield
    finally:
        give_back(module)


@contextmanager
def evaluating(module: nn.Module) -> Iterator[None]:
    """Nothing is dropped meanwhile; every part is then in the mode it was in."""
    modes: Dict[nn.Module, bool] = {part: part.training for part in module.modules()}
    module.eval()
    try:
        yield
    finally:
        for part, mode in modes.items():
            part.training = mode
