# SPDX-License-Identifier: Apache-2.0
"""The name "fibottention" for the attention of other libraries, where they ask for one by name: Hugging Face's
transformers and timm.
"""

import importlib
from typing import Any, Callable, Dict, List, Optional, Tuple
from weakref import ref

import torch
from torch import Tensor, nn

from .attention import FibottentionAttention
from .registry import checked


def register_attention(attention: str = "fibottention", *, name: str = "fibottention", cls: Optional[int] = None,
                       **options: Any) -> List[str]:
    """Makes an attention known by `name` to those of transformers and timm that are installed; says which.

    transformers: AutoModel.from_pretrained(…, attn_implementation="fibottention"). Layers are numbered by `layer_idx`, or
    in the order in which they are first called. Class tokens: `cls`, or none of a causal model, and else one, a second of
    DeiT, and registers as the model's config has them. Sequences that are padded, caches of keys and attention maps are
    refused. timm: timm.create_model(…, attn_layer="fibottention"), where heads keep their order in every layer; `convert`
    permutes them. `attention` and `options` are as for `convert`.
    """
    text, masking = checked(attention, options)
    done = [library for library, hook in HOOKS.items() if hook(name, text, masking, cls)]
    if not done:
        raise ImportError("neither a transformers with AttentionInterface nor a timm whose blocks take attn_layer is "
                          "installed; fibottention.convert works with models of any version")
    return done


def imported(module: str, *attributes: str) -> Optional[Tuple[Any, ...]]:
    """Attributes of a module; None where the module or one of them is missing."""
    try:
        found = importlib.import_module(module)
    except ImportError:
        return None
    values = tuple(getattr(found, attribute, None) for attribute in attributes)
    return None if None in values else values


# ---- transformers -------------------------------------------------------------------------------------------------------


def hook_transformers(name: str, text: str, masking: str, cls: Optional[int]) -> bool:
    attentions = imported("transformers", "AttentionInterface")
    if attentions is None:
        return False
    attentions[0].register(name, attention_function(text, masking, cls))
    masks = imported("transformers", "AttentionMaskInterface")
    if masks is not None:
        masks[0].register(name, refuse_padding)
    return True


def refuse_padding(*_: Any, attention_mask: Optional[Tensor] = None, **__: Any) -> None:
    """What transformers asks for a mask: there is none, for the support says who sees whom."""
    if attention_mask is not None and not bool(attention_mask.all()):
        raise ValueError("fibottention takes no padded sequences: attention_mask has zeros; give sequences of one length")


def attention_function(text: str, masking: str, cls: Optional[int]) -> Callable[..., Tuple[Tensor, None]]:
    """As transformers calls it: q [B,H,T,d], k and v [B,H or fewer,T,d] -> [B,T,H,d], and no map."""

    def attend(module: nn.Module, query: Tensor, key: Tensor, value: Tensor, attention_mask: Optional[Tensor] = None,
               scaling: Optional[float] = None, dropout: float = 0.0, is_causal: Optional[bool] = None,
               **_: Any) -> Tuple[Tensor, None]:
        if attention_mask is not None:
            raise ValueError("fibottention takes no attention_mask or head_mask: its support says who sees whom")
        if query.shape[2] != key.shape[2]:
            raise ValueError(f"fibottention takes no cache of keys: q has {query.shape[2]} tokens, k has {key.shape[2]}; "
                             "pass use_cache=False")
        causal = bool(getattr(module, "is_causal", False) if is_causal is None else is_causal)
        groups = query.shape[1] // key.shape[1]
        if groups > 1:
            key, value = (t.repeat_interleave(groups, 1) for t in (key, value))
        out = torch.ops.fibottention.named_attention(query, key, value, text, class_tokens(module, causal, cls), causal,
                                                     layer_number(module), None, masking, scaling, dropout, [])
        return out.transpose(1, 2), None

    return attend


def class_tokens(module: nn.Module, causal: bool, cls: Optional[int]) -> int:
    if cls is not None:
        return cls
    config = getattr(module, "config", None)
    if causal:
        return 0
    return 1 + (getattr(config, "model_type", "") == "deit") + int(getattr(config, "num_register_tokens", 0) or 0)


numbered: Dict[int, Tuple[Any, int]] = {}  # of a model's config: itself, and how many layers are numbered


def layer_number(module: nn.Module) -> int:
    """transformers' own number, or the order in which the layers of a model, which share its config, are first called."""
    own = getattr(module, "layer_idx", getattr(module, "fib_layer_number", None))
    if isinstance(own, int):
        return own
    config = getattr(module, "config", module)
    known, count = numbered.get(id(config), (None, 0))
    if known is None or known() is not config:
        count = 0
    numbered[id(config)] = (ref(config), count + 1)
    module.fib_layer_number = count
    return count


# ---- timm ---------------------------------------------------------------------------------------------------------------


def hook_timm(name: str, text: str, masking: str, cls: Optional[int]) -> bool:
    table = imported("timm.models.vision_transformer", "ATTN_LAYERS")
    if table is None:
        return False

    class RegisteredAttention(FibottentionAttention):
        """What timm makes for attn_layer: its arguments, with the mechanism that was registered."""

        def __init__(self, *arguments: Any, **timms: Any) -> None:
            super().__init__(*arguments, **timms, attention=text, masking=masking, cls=1 if cls is None else cls)

    table[0][name] = RegisteredAttention
    return True


HOOKS = {"transformers": hook_transformers, "timm": hook_timm}
