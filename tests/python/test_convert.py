# SPDX-License-Identifier: Apache-2.0
"""Models that people have, with another attention; mechanisms by name; doctests."""

import copy
import doctest
import io
import os
import pickle
import subprocess
import sys
import tempfile
import unittest
import warnings
from pathlib import Path

try:
    import numpy
    import torch
except ImportError as missing:
    print(f"SKIPPED: this interpreter has no {missing.name}")
    sys.exit(77)

try:
    import torchvision
except ImportError:
    torchvision = None

from torch import nn

import fibottention
import lookalikes
import weights
from fibottention import conversion, layouts, registry
from tiny_vit import Attention, VisionTransformer

TOP = Path(__file__).resolve().parents[2]
FIB = os.environ.get("FIB_BINARY")
needs_torchvision = unittest.skipUnless(torchvision, "torchvision is not installed")


def vision_transformer(attention_dropout=0.0):
    """torchvision's, in the size of `mini_vit`."""
    model = torchvision.models.VisionTransformer(64, 8, num_layers=3, num_heads=3, hidden_dim=48, mlp_dim=192, num_classes=10,
                                                 attention_dropout=attention_dropout)
    nn.init.normal_(model.heads.head.weight, std=0.1)
    nn.init.normal_(model.class_token, std=0.1)
    return model


def swin_transformer():
    """torchvision's, in the size of `mini_swin`."""
    return torchvision.models.SwinTransformer([2, 2], 24, [2, 2], [2, 4], [7, 7], stochastic_depth_prob=0.0, num_classes=10)


def timm_transformer():
    return VisionTransformer(lambda dim, heads, layer: Attention(dim, heads, qkv_bias=True))


# name: model, shape of its input, its attentions, whether it can be scripted
MODELS = {
    "timm": (timm_transformer, (2, 3, 32, 32), 2, True),
    "timm with norms": (lookalikes.NormedAttention, (2, 17, 24), 1, True),
    "timm's Swin": (lookalikes.Windows, (6, 16, 24), 1, True),
    "Hugging Face": (lookalikes.ViTAttention, (2, 17, 24), 1, False),
    "Hugging Face, newer": (lambda: lookalikes.ViTAttention(outputs=2), (2, 17, 24), 1, False),
    "torch, tokens first": (lambda: SelfAttending(), (17, 2, 24), 1, True),
}
if torchvision:
    MODELS["torchvision's ViT"] = (vision_transformer, (2, 3, 64, 64), 3, True)
    MODELS["torchvision's Swin"] = (swin_transformer, (2, 3, 56, 56), 4, True)


class SelfAttending(nn.Module):
    def __init__(self):
        super().__init__()
        self.attention = nn.MultiheadAttention(24, 3)

    def forward(self, x):
        return self.attention(x, x, x)[0]


def quiet_convert(model, *arguments, **options):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        return fibottention.convert(model, *arguments, **options)


def gradients(model, x):
    return torch.autograd.grad(model(x).square().sum(), list(model.parameters()), allow_unused=True)


def for_every_model(test):
    def run(self):
        for name, (make, shape, count, scripts) in MODELS.items():
            torch.manual_seed(0)
            with self.subTest(name):
                test(self, make().eval(), torch.randn(shape), count, scripts)
    return run


class EveryModel(unittest.TestCase):
    @for_every_model
    def test_gives_its_own_results_with_full_attention(self, model, x, count, scripts):
        own, own_gradients = model(x), gradients(model, x)
        quiet_convert(model, "full")
        torch.testing.assert_close(model(x), own, rtol=0.0, atol=1e-5)
        for ours, theirs in zip(gradients(model, x), own_gradients):
            if theirs is not None:
                torch.testing.assert_close(ours, theirs, rtol=1e-4, atol=1e-4)

    @for_every_model
    def test_gives_other_results_with_sparse_attention_and_its_own_when_restored(self, model, x, count, scripts):
        own, types, keys = model(x), [type(m) for m in model.modules()], list(model.state_dict())
        quiet_convert(model, "fibottention", wmax=6)
        self.assertEqual(sum(isinstance(m, layouts.Exchanged) for m in model.modules()), count)
        self.assertEqual(list(model.state_dict()), keys)
        self.assertGreater((model(x) - own).abs().max().item(), 1e-4)
        fibottention.restore(model)
        self.assertEqual([type(m) for m in model.modules()], types)
        self.assertFalse([key for m in model.modules() for key in vars(m) if key.startswith("fib_")])
        self.assertTrue(torch.equal(model(x), own))

    @for_every_model
    def test_takes_training_steps(self, model, x, count, scripts):
        quiet_convert(model.train(), "fibottention")
        optimizer = torch.optim.SGD(model.parameters(), lr=1e-3)
        losses = []
        for _ in range(2):
            loss = model(x).square().mean()
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            losses.append(loss.item())
        self.assertLess(losses[1], losses[0])

    @for_every_model
    def test_is_copied_pickled_scripted_and_replicated(self, model, x, count, scripts):
        quiet_convert(model, "bigbird:w=2", seed=7)
        expected = model(x)
        copies = [copy.deepcopy(model), pickle.loads(pickle.dumps(model)), saved_and_loaded(model), replica(model)]
        copies += [torch.jit.script(model)] if scripts else []
        for other in copies:
            torch.testing.assert_close(other(x), expected, rtol=0.0, atol=1e-6)
        own = fibottention.restore(copies[0])
        self.assertFalse(torch.equal(own(x), model(x)))

    @for_every_model
    def test_runs_under_autocast(self, model, x, count, scripts):
        with torch.autocast("cpu", dtype=torch.bfloat16):
            try:
                model(x)
            except RuntimeError as reason:
                self.assertIn("expected scalar type BFloat16 but found Float", str(reason))
                return  # torch 1.13's LayerNorm takes no bfloat16 beside float32: the model's own does not run either
            narrow = quiet_convert(model, "fibottention")(x)
        torch.testing.assert_close(narrow.float(), model(x), rtol=0.1, atol=0.1)
        narrow.float().sum().backward()

    @unittest.skipUnless(hasattr(torch, "compile"), "torch.compile came with torch 2.0")
    @for_every_model
    def test_is_one_compiled_graph(self, model, x, count, scripts):
        quiet_convert(model, "fibottention")
        compiled = torch.compile(model, fullgraph=True, backend="aot_eager")
        torch.testing.assert_close(compiled(x), model(x))
        torch.testing.assert_close(gradients(compiled, x), gradients(model, x))


def saved_and_loaded(model):
    file = io.BytesIO()
    torch.save(model, file)
    file.seek(0)
    return torch.load(file, **({} if torch.__version__ < "1.13.1" else {"weights_only": False}))


def replica(model):
    """As nn.DataParallel makes one on each device."""
    modules = list(model.modules())
    copies = {module: module._replicate_for_data_parallel() for module in modules}
    for module, twin in copies.items():
        twin._modules = {name: copies.get(child) for name, child in module._modules.items()}
        for name, parameter in module._parameters.items():
            setattr(twin, name, parameter if parameter is None else parameter.detach().clone())
        twin._buffers = dict(module._buffers)
    return copies[model]


class Definition(unittest.TestCase):
    """An exchanged module computes its own formula under the mechanism's mask."""

    def test_holds_with_norms_a_scale_and_a_permutation(self):
        torch.manual_seed(0)
        models = nn.ModuleList(lookalikes.NormedAttention() for _ in range(3)).double()
        quiet_convert(models, "fibottention", wmin=2, wmax=7, cls=2)
        for layer, module in enumerate(models):
            x = torch.randn(2, 23, 24, dtype=torch.float64)
            q, k, v = module.qkv(x).reshape(2, 23, 3, 3, 8).permute(2, 0, 3, 1, 4)
            mask = fibottention.support("fibottention:wmin=2,wmax=7", tokens=21, heads=3, cls=2, layer=layer).mask
            outside = torch.zeros(mask.shape).masked_fill(~mask, float("-inf"))
            expected = module.proj(lookalikes.mixed(module.q_norm(q), module.k_norm(k), v, 0.3, outside))
            torch.testing.assert_close(module(x), expected)

    def test_drops_only_in_training(self):
        module = quiet_convert(lookalikes.NormedAttention(attn_drop=0.5), "longformer")
        x = torch.randn(1, 17, 24)
        self.assertFalse(torch.equal(module(x), module(x)))
        module.eval()
        self.assertTrue(torch.equal(module(x), module(x)))

    @unittest.skipUnless(torchvision and FIB, "needs torchvision and the program")
    def test_equals_the_program_on_the_same_weights(self):
        for name, make, names in (("mini_vit", vision_transformer, weights.VIT_NAMES),
                                  ("mini_swin", swin_transformer, weights.SWIN_NAMES)):
            for attention in ("full", "fibottention", "bigbird:w=2"):
                with self.subTest(name, attention=attention):
                    self.compare_with_program(name, make, names, attention)

    def compare_with_program(self, name, make, names, attention):
        torch.manual_seed(0)
        model = make().eval()
        side = 64 if name == "mini_vit" else 56
        x = torch.randn(2, 3, side, side)
        with tempfile.TemporaryDirectory() as folder:
            weights_file, in_file, out_file = (Path(folder) / f for f in ("w.safetensors", "x.npy", "y.npy"))
            weights.save(weights.renamed(model.state_dict(), names), weights_file)
            numpy.save(in_file, x.numpy())
            subprocess.run([FIB, "--quiet", "infer", "--model", name, "--weights", weights_file, "--attention", attention,
                            "--input", in_file, "--out", out_file], check=True)
            expected = torch.from_numpy(numpy.load(out_file))
        with torch.no_grad():
            torch.testing.assert_close(quiet_convert(model, attention)(x), expected, rtol=0.0, atol=1e-4)


class Choice(unittest.TestCase):
    """What is exchanged, what is left, and what is said of it."""

    def setUp(self):
        torch.manual_seed(0)

    def test_takes_the_layers_that_are_named(self):
        model = nn.Sequential(*(lookalikes.NormedAttention() for _ in range(4)))
        quiet_convert(model, "fibottention", wmax=4, layers=[0, -1])
        quiet_convert(model, "local:w=1", layers=range(1, 2))
        self.assertEqual([layer.attention for layer in fibottention.describe(model)],
                         ["fibottention:wmax=4 (cls 0)", "local:w=1 (cls 0)", "its own (NormedAttention)",
                          "fibottention:wmax=4 (cls 0)"])
        self.assertEqual(model[3].fib_layer, 3)
        with self.assertRaisesRegex(ValueError, r"-4 to 3 for the 4 attentions of this model, got \[4, -5\]"):
            fibottention.convert(model, layers=[1, 4, -5])

    def test_finds_class_tokens(self):
        self.assertEqual(conversion.class_tokens(timm_transformer()), 1)
        self.assertEqual(conversion.class_tokens(lookalikes.ViTAttention()), 1)
        self.assertEqual(conversion.class_tokens(lookalikes.Windows()), 0)
        registers = nn.Module()
        registers.num_prefix_tokens = 5
        self.assertEqual(conversion.class_tokens(registers), 5)

    def test_leaves_what_it_cannot_exchange_and_says_why(self):
        scripted = torch.jit.script(Attention(24, 3))
        model = nn.ModuleDict({
            "good": lookalikes.NormedAttention(), "order": lookalikes.HeadsBeforeThree(),
            "temperature": lookalikes.Temperature(), "strange": lookalikes.StrangeAttention(),
            "cross": nn.MultiheadAttention(24, 3, kdim=12, vdim=12), "zero": nn.MultiheadAttention(24, 3, add_zero_attn=True),
            "encoder": nn.TransformerEncoderLayer(24, 3, 24, batch_first=True), "scripted": scripted})
        with self.assertWarns(UserWarning) as caught:
            fibottention.convert(model, "fibottention")
        said = str(caught.warning)
        for text in ("order: its own (HeadsBeforeThree) (it computes something else, by", "temperature: its own (Temperature) (it computes with temperature besides)",
                     "strange: its own (StrangeAttention) (no layout that is known)", "cross: its own (MultiheadAttention) (keys or values have other channels",
                     "zero: its own (MultiheadAttention) (it adds keys that are no tokens", "encoder.self_attn: its own (MultiheadAttention) (nn.TransformerEncoderLayer computes",
                     "scripted: its own (Attention) (it is scripted: convert first, then script)"):
            self.assertIn(text, said)
        self.assertNotIn("good", said)
        described = str(fibottention.describe(model))
        self.assertIn("good: fibottention (cls 0)", described)
        self.assertIn("temperature: its own (Temperature) (it computes with temperature besides)", described)
        self.assertIs(type(model["order"]), lookalikes.HeadsBeforeThree)

    def test_leaves_parametrized_modules(self):
        model = nn.ModuleList([nn.MultiheadAttention(24, 3)])
        nn.utils.parametrizations.orthogonal(model[0], "in_proj_weight")
        with self.assertRaisesRegex(ValueError, "it is parametrized"):
            fibottention.convert(model)

    def test_leaves_no_trace_of_trying(self):
        model = nn.Sequential(lookalikes.NormedAttention().train())
        state = torch.get_rng_state()
        model[0].proj_drop.eval()
        quiet_convert(model)
        self.assertTrue(torch.equal(torch.get_rng_state(), state))
        self.assertEqual([m.training for m in (model[0], model[0].qkv, model[0].proj_drop)], [True, True, False])

    def test_names_what_it_refuses(self):
        model = lookalikes.NormedAttention()
        for arguments, options, message in (
                (("fibotention",), {}, "unknown attention 'fibotention', did you mean 'fibottention'"),
                (("bigbird",), {"width": 2}, "unknown option 'width'"), (("topk",), {}, "topk is not a support set"),
                (("fibottention:wmax=4",), {"wmax": 5}, "gives 'wmax' twice"),
                (("fibottention",), {"masking": "none"}, "masking must be exclude or zero")):
            with self.subTest(message), self.assertRaisesRegex(ValueError, message):
                fibottention.convert(model, *arguments, **options)
        with self.assertRaisesRegex(ValueError, "no attention that is known"):
            fibottention.convert(nn.Linear(2, 2))
        with self.assertRaisesRegex(ValueError, "masking=zero does not go with a bias"):
            fibottention.convert(lookalikes.Windows(), "fibottention:masking=zero")
        with self.assertRaisesRegex(ValueError, "summaries do not go with a bias"):
            fibottention.convert(lookalikes.Windows(), "fibottention:summaries=2x2")
        with self.assertRaisesRegex(ValueError, "masking=zero does not go with dropout"):
            fibottention.convert(lookalikes.NormedAttention(attn_drop=0.1), "fibottention:masking=zero")

    def test_sees_neighbors_and_summaries_of_patches_that_are_no_square(self):
        module, x = lookalikes.NormedAttention(), torch.randn(2, 12, 24)
        quiet_convert(module, "local:w=1,grid=3,summaries=2x2", cls=0, grid_shape=(3, 4))
        self.assertEqual(module(x).shape, x.shape)
        with self.assertRaisesRegex(ValueError, "9 patches"):
            module(x[:, :9])

    def test_refuses_masks_and_other_keys_when_it_runs(self):
        x = torch.randn(2, 9, 24)
        module = quiet_convert(lookalikes.NormedAttention())
        with self.assertRaisesRegex(ValueError, "takes no attn_mask"):
            module(x, attn_mask=torch.ones(9, 9))
        torchs = quiet_convert(nn.MultiheadAttention(24, 3, batch_first=True))
        with self.assertRaisesRegex(ValueError, "must be one tensor"):
            torchs(x, x.clone(), x)
        with self.assertRaisesRegex(ValueError, "takes no masks"):
            torchs(x, x, x, attn_mask=torch.ones(9, 9))
        one = x[0]
        self.assertEqual(torchs(one, one, one)[0].shape, (9, 24))

    def test_runs_the_published_masking(self):
        module = quiet_convert(lookalikes.NormedAttention(), "fibottention:wmax=4", masking="zero")
        x = torch.randn(1, 17, 24)
        zero = module(x)
        self.assertIn("masking zero", str(fibottention.describe(module)))
        self.assertFalse(torch.allclose(zero, quiet_convert(module, "fibottention:wmax=4")(x)))


class Supports(unittest.TestCase):
    def test_have_the_papers_counts(self):
        for attention, pairs, ratio in (("fibottention:wmin=5,wmax=65", 9192, 0.9801), ("fibottention-modified", 17446, 0.9622),
                                        ("longformer", 7032, 0.9847), ("bigbird", 9384, 0.9796), ("full", 460992, 0.0)):
            support = fibottention.support(attention, tokens=196, heads=12)
            self.assertEqual((support.patch_pairs, round(support.ratio, 4)), (pairs, ratio), attention)

    def test_agree_with_themselves(self):
        for name in fibottention.mechanisms():
            support = fibottention.support(name, tokens=20, heads=3, cls=2, layer=1)
            mask = torch.zeros(3, 22, 22, dtype=torch.bool)
            for head, pairs in enumerate(support.pairs):
                mask[head, pairs[:, 0], pairs[:, 1]] = True
            self.assertTrue(torch.equal(mask, support.mask), name)
            self.assertAlmostEqual(support.ratio_with_cls, 1 - mask.float().mean().item(), places=6)
            for head, offsets in enumerate(support.offsets):
                self.assertTrue(all(mask[head, 2, 2 + offset] for offset in offsets.tolist() if offset < 20), name)
                self.assertLessEqual(int(support.diagonal[head]), int(mask[head, 2, 2]))

    def test_run_as_attention_under_their_mask(self):
        torch.manual_seed(0)
        q, k, v = (torch.randn(2, 3, 22, 4, dtype=torch.float64, requires_grad=True) for _ in range(3))
        bias = torch.randn(1, 3, 22, 22, dtype=torch.float64, requires_grad=True)
        for name in fibottention.mechanisms():
            with self.subTest(name):
                support = fibottention.support(name, tokens=20, heads=3, cls=2)
                scores = (q @ k.transpose(-2, -1) / 2 + bias).masked_fill(~support.mask, float("-inf"))
                out = fibottention.support_attention(q, k, v, support, bias=bias)
                expected = scores.softmax(-1) @ v
                torch.testing.assert_close(out, expected)
                inputs = [q, k, v, bias]
                torch.testing.assert_close(torch.autograd.grad(out.square().sum(), inputs),
                                           torch.autograd.grad(expected.square().sum(), inputs))
                torch.testing.assert_close(fibottention.support_attention(q, k, v, support.handle, bias=bias), expected)

    def test_are_values(self):
        support = fibottention.support("bigbird", tokens=196, heads=12, w=2)
        self.assertEqual(support, fibottention.support("bigbird:w=2", tokens=196, heads=12))
        self.assertEqual(len({support, copy.deepcopy(support), pickle.loads(pickle.dumps(support))}), 1)
        self.assertEqual(numpy.asarray(support.offsets[0]).tolist(), [1, 2])

    def test_name_what_they_refuse(self):
        for options, message in (({"tokens": 0}, "tokens must be 1 to"), ({"heads": 0}, "heads must be 1 to"),
                                 ({"wmax": 0}, "wmax must be an integer from 1"), ({"wmin": 9, "wmax": 3}, "wmin 9 and wmax 3")):
            with self.subTest(message), self.assertRaisesRegex(ValueError, message):
                fibottention.support("fibottention", **{"tokens": 20, "heads": 3, **options})
        q = torch.randn(1, 3, 20, 4)
        with self.assertRaisesRegex(ValueError, r"\[batch, 3, 21, channels\].*got \[1, 3, 20, 4\]"):
            fibottention.support_attention(q, q, q, fibottention.support("local", tokens=20, heads=3))

    def test_need_no_map_in_memory_on_the_meta_device(self):
        q = torch.empty(1, 3, 4097, 8, device="meta")
        support = fibottention.support("fibottention", tokens=4096, heads=3)
        self.assertEqual(fibottention.support_attention(q, q, q, support).shape, q.shape)

    @unittest.skipUnless(hasattr(torch.library, "opcheck"), "opcheck came with torch 2.4")
    def test_pass_opcheck_by_name(self):
        q = torch.randn(2, 3, 31, 8, requires_grad=True)
        bias = torch.randn(1, 3, 31, 31, requires_grad=True)
        operators = torch.ops.fibottention
        for name in ("bigbird", "full"):
            torch.library.opcheck(operators.named_attention.default, (q, q, q, name), {"layer": 3, "bias": bias})
        torch.library.opcheck(operators.named_attention_packed.default,
                              (torch.randn(2, 31, 3, 3, 8, requires_grad=True), "fibottention"), {"layer": 3})


class Description(unittest.TestCase):
    def test_is_a_text_and_a_list(self):
        described = fibottention.describe(quiet_convert(lookalikes.NormedAttention(), "local:w=2"))
        self.assertEqual(repr(described), "  0  model: local:w=2 (cls 0)")
        self.assertIn("local:w=2", described)
        self.assertIn(described[0], described)
        self.assertNotIn("bigbird", described)


def load_tests(loader, tests, pattern):
    torch.manual_seed(0)
    for module in (fibottention, registry, *([conversion] if torchvision else [])):
        tests.addTests(doctest.DocTestSuite(module))
    if torchvision:
        tests.addTests(doctest.DocFileSuite(str(TOP / "docs/python.md"), module_relative=False,
                                            globs={"lookalike": lookalikes.NormedAttention}))
    return tests


if __name__ == "__main__":
    unittest.main()
