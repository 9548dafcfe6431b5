# SPDX-License-Identifier: Apache-2.0
"""The mechanisms of the registry by name: which query meets which key, and attention on it.

Letters: B samples, H heads, N patch tokens, T = cls + N tokens, d channels of a query or key, e of a value.
"""

from dataclasses import dataclass
from typing import Any, Dict, List, Optional, Sequence, Tuple, Union

import torch
from torch import Tensor

from .c_library import Pattern
from .library import active


@dataclass(frozen=True)
class Mechanism:
    """What the registry tells of a mechanism: its options with their defaults, and what each means."""

    name: str
    summary: str
    defaults: Dict[str, str]
    help: Dict[str, str]


def mechanisms() -> Dict[str, Mechanism]:
    """The support sets by name, as `fib attentions` lists them.

    >>> list(mechanisms())[:3]
    ['full', 'fibottention', 'fibottention-modified']
    >>> mechanisms()["bigbird"].defaults["w"]
    '1'
    """
    table = {}
    for name, summary, *options in active().mechanisms():
        keys, defaults, help_texts = options[::3], options[1::3], options[2::3]
        table[name] = Mechanism(name, summary, dict(zip(keys, defaults)), dict(zip(keys, help_texts)))
    return table


def written(value: Any) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)


def text_of(attention: str, options: Dict[str, Any]) -> str:
    """NAME:key=value,… with further options behind those that the text has already."""
    given = ",".join(f"{key}={written(value)}" for key, value in options.items() if value is not None)
    return attention + ("," if ":" in attention else ":") * bool(given) + given


def checked(attention: str, options: Dict[str, Any]) -> Tuple[str, str]:
    """The mechanism's text as the operators take it, and its masking; ValueError says what is wrong with it."""
    try:
        text, masking = active().check_mechanism(text_of(attention, options))
    except (RuntimeError, ValueError) as reason:
        raise ValueError(first_line(reason)) from None
    return text, masking


def first_line(reason: BaseException) -> str:
    return str(reason).split("\n")[0]


@dataclass(frozen=True)
class Support:
    """Which query meets which key, in each head of one layer. Made by `support`.

    A value: it compares, hashes, copies and pickles by what it was made from.
    """

    attention: str
    tokens: int
    heads: int
    cls: int = 1
    layer: Optional[int] = None
    causal: bool = False
    masking: str = "exclude"
    grid_shape: Tuple[int, ...] = ()

    @staticmethod
    def of(pattern: Pattern) -> "Support":
        attention, tokens, cls, heads, layer, causal, grid_shape = pattern.key
        return Support(attention, tokens, heads, cls, None if layer < 0 else layer, causal, "exclude", grid_shape)

    @property
    def handle(self) -> Any:
        """What the library made of it. Of the operator library it is a torch.classes.fibottention.Support, which the
        operators of any offsets and pairs take."""
        try:
            return active().support(self.attention, self.tokens, self.cls, self.heads, self.layer, self.causal,
                                    self.grid_shape)
        except (RuntimeError, ValueError) as reason:
            raise ValueError(first_line(reason)) from None

    @property
    def offsets(self) -> List[Tensor]:
        """Of each head the distances between patch tokens that meet, ascending; int64."""
        handle = self.handle
        return [torch.tensor(handle.offsets(head), dtype=torch.int64) for head in range(self.heads)]

    @property
    def windows(self) -> Tensor:
        """The window of each head, int64 [H]."""
        handle = self.handle
        return torch.tensor([handle.window(head) for head in range(self.heads)])

    @property
    def diagonal(self) -> Tensor:
        """Whether a patch token sees itself, bool [H]."""
        handle = self.handle
        return torch.tensor([handle.diagonal(head) for head in range(self.heads)])

    @property
    def pairs(self) -> List[Tensor]:
        """Of each head all (query, key) of tokens, class tokens included, as int64 [pairs, 2], ascending."""
        handle = self.handle
        return [handle.pairs(head) for head in range(self.heads)]

    @property
    def mask(self) -> Tensor:
        """True where a query meets a key, bool [H, T, T]: memory T². Summaries are no tokens, and not in it."""
        return self.handle.mask()

    @property
    def summaries(self) -> int:
        """How many means of keys and values every patch token sees besides."""
        return self.handle.summaries()

    @property
    def neighbor_pairs(self) -> Tensor:
        """Of each head the pairs that only neighbors on the grid give, int64 [H]."""
        handle = self.handle
        return torch.tensor([handle.neighbor_pairs(head) for head in range(self.heads)])

    @property
    def patch_pairs(self) -> int:
        """Pairs of patch tokens, and of them with summaries, over all heads: what the paper counts."""
        return self.handle.patch_pairs()

    @property
    def ratio(self) -> float:
        """The pruning ratio over pairs of patch tokens, the paper's 98.01 %."""
        return self.handle.pruning_ratio()

    @property
    def ratio_with_cls(self) -> float:
        """The pruning ratio over all T × T pairs."""
        return self.handle.pruning_ratio_with_cls()


def support(attention: str, tokens: int, heads: int, *, cls: int = 1, layer: Optional[int] = None,
            causal: bool = False, grid_shape: Sequence[int] = (), **options: Any) -> Support:
    """The support set of a mechanism over `tokens` patch tokens, which `cls` class tokens precede.

    The text is the program's, NAME or NAME:key=value,…; options may be keywords as well. `layer` selects the head
    permutation and the random draw. `grid_shape`, (height, width) or (height, width, frames), is how the patches lie,
    for the options `grid` and `summaries`; without it they are a square. Tensors come out, and numpy takes them as
    they are.

    >>> s = support("fibottention", tokens=196, heads=12, wmin=5, wmax=65)
    >>> s.offsets[0].tolist(), s.patch_pairs, round(s.ratio, 4)
    ([1, 2, 3, 5], 9192, 0.9801)
    >>> s.mask.shape
    torch.Size([12, 197, 197])
    >>> support("bigbird:w=2", tokens=196, heads=12).pairs[0][:3].tolist()
    [[0, 0], [0, 1], [0, 2]]
    >>> s = support("fibottention", tokens=140, heads=3, grid_shape=(10, 14), grid=3, summaries="4x4")
    >>> s.summaries, s.neighbor_pairs.tolist()
    (16, [720, 980, 980])
    """
    text, masking = checked(attention, options)
    made = Support(text, tokens, heads, cls, layer, causal, masking, tuple(grid_shape))
    made.handle  # refuses what it cannot make here, and not where it is first used
    return made


def support_attention(q: Tensor, k: Tensor, v: Tensor, support: Union[Support, Any], *, bias: Optional[Tensor] = None,
                      scale: Optional[float] = None, dropout: float = 0.0) -> Tensor:
    """Attention in which a query sees the keys of its support alone; differentiable, in time and memory of the pairs.

    q, k [B,H,T,d] and v [B,H,T,e], of any strides; gives [B,H,T,e]. `bias` [G, H or 1, T, T] is added to the scores,
    sample b uses group b mod G. `dropout` acts on probabilities whenever it is not 0.

    >>> s = support("longformer", tokens=16, heads=2)
    >>> q = torch.randn(1, 2, 17, 8, requires_grad=True)
    >>> out = support_attention(q, q, q, s)
    >>> weights = (q @ q.transpose(-2, -1) / 8 ** 0.5).masked_fill(~s.mask, float("-inf")).softmax(-1)
    >>> bool(torch.allclose(out, weights @ q, atol=1e-5))
    True
    """
    if isinstance(support, Pattern):
        support = Support.of(support)
    if not isinstance(support, Support):
        return torch.ops.fibottention.support_attention(q, k, v, support, bias, None, scale, False, dropout)[0]
    if q.dim() != 4 or q.shape[1] != support.heads or q.shape[2] != support.tokens + support.cls:
        raise ValueError(f"q must be [batch, {support.heads}, {support.tokens + support.cls}, channels] for this "
                         f"support ({support.cls} class and {support.tokens} patch tokens), got {list(q.shape)}")
    return torch.ops.fibottention.named_attention(q, k, v, support.attention, support.cls, support.causal,
                                                  support.layer, bias, support.masking, scale, dropout,
                                                  list(support.grid_shape))
