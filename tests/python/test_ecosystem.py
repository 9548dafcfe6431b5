# SPDX-License-Identifier: Apache-2.0
"""What other libraries ask an attention for: a name in transformers and timm, marks in checkpoints, torch.export; and the
profile of a model before and after. transformers and timm themselves are used where they are installed, and look-alikes
of how they call everywhere.
"""

import contextlib
import io
import json
import os
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

from torch import nn

import fibottention
import lookalikes
import weights
from fibottention import marks, profile
from tiny_vit import Attention, VisionTransformer
from vit_reference import read_safetensors

FIB = os.environ.get("FIB_BINARY")

TRANSFORMERS = {"transformers": {"AttentionInterface": lookalikes.AttentionInterface,
                                 "AttentionMaskInterface": lookalikes.AttentionMaskInterface}}


def timm_modules():
    return {"timm": {}, "timm.models": {}, "timm.models.vision_transformer": {"ATTN_LAYERS": {"": Attention}}}


def masked(q, k, v, mask):
    """A query without keys gets zeros."""
    sees = mask.any(-1, keepdim=True)
    scores = (q @ k.transpose(-2, -1) * q.shape[-1] ** -0.5).masked_fill(~mask & sees, float("-inf"))
    return (scores.softmax(-1) @ v) * sees


class Transformers(unittest.TestCase):
    def setUp(self):
        torch.manual_seed(0)
        lookalikes.AttentionInterface.functions.clear()

    def register(self, *arguments, **options):
        with lookalikes.installed(TRANSFORMERS):
            self.assertEqual(fibottention.register_attention(*arguments, **options), ["transformers"])

    def expected(self, layer, x, mask):
        q, k, v = (part(x).view(*x.shape[:2], -1, 8).transpose(1, 2) for part in (layer.query, layer.key, layer.value))
        k, v = (t.repeat_interleave(q.shape[1] // t.shape[1], 1) for t in (k, v))
        return masked(q, k, v, mask).transpose(1, 2).flatten(2)

    def test_computes_what_the_mechanism_says_layer_by_layer(self):
        self.register("fibottention", wmin=2, wmax=9)
        config = lookalikes.Config("fibottention")
        layers = nn.ModuleList(lookalikes.NamedSelfAttention(config) for _ in range(3))
        for _ in range(2):  # numbers stay
            for number, layer in enumerate(layers):
                x = torch.randn(2, 31, 24)
                mask = fibottention.support("fibottention:wmin=2,wmax=9", tokens=30, heads=3, layer=number).mask
                torch.testing.assert_close(layer(x), self.expected(layer, x, mask))
        other = lookalikes.NamedSelfAttention(lookalikes.Config("fibottention"))
        other(torch.randn(1, 31, 24))
        self.assertEqual(other.fib_layer_number, 0)

    def test_knows_causal_models_and_shared_keys(self):
        self.register("local:w=3", name="near")
        layer = lookalikes.NamedSelfAttention(lookalikes.Config("near", "llama"), key_heads=1, is_causal=True)
        layer.layer_idx = 4
        x = torch.randn(2, 31, 24, requires_grad=True)
        mask = fibottention.support("local:w=3", tokens=31, heads=3, cls=0, layer=4, causal=True).mask
        out, expected = layer(x), self.expected(layer, x, mask)
        torch.testing.assert_close(out, expected)
        torch.testing.assert_close(torch.autograd.grad(out.square().sum(), x), torch.autograd.grad(expected.square().sum(), x))

    def test_finds_class_tokens_in_the_config(self):
        from fibottention.hooks import class_tokens
        for config, causal, cls in ((lookalikes.Config("f"), False, 1), (lookalikes.Config("f", "deit"), False, 2),
                                    (lookalikes.Config("f", "dinov2_with_registers", num_register_tokens=4), False, 5),
                                    (lookalikes.Config("f", "gpt2"), True, 0)):
            self.assertEqual(class_tokens(lookalikes.NamedSelfAttention(config), causal, None), cls)
        self.assertEqual(class_tokens(nn.Linear(1, 1), False, 3), 3)

    def test_refuses_masks_padding_and_caches(self):
        self.register()
        layer = lookalikes.NamedSelfAttention(lookalikes.Config("fibottention"))
        with self.assertRaisesRegex(ValueError, "takes no attention_mask"):
            layer(torch.randn(1, 9, 24), torch.zeros(1, 1, 9, 9))
        attend = lookalikes.AttentionInterface.functions["fibottention"]
        q, k = torch.randn(1, 3, 1, 8), torch.randn(1, 3, 9, 8)
        with self.assertRaisesRegex(ValueError, "no cache of keys: q has 1 tokens, k has 9"):
            attend(layer, q, k, k, None)
        mask = lookalikes.AttentionMaskInterface.functions["fibottention"]
        self.assertIsNone(mask(2, None, 9, attention_mask=torch.ones(2, 9)))
        with self.assertRaisesRegex(ValueError, "no padded sequences"):
            mask(2, None, 9, attention_mask=torch.tensor([[1, 0]]))

    def test_refuses_what_is_no_mechanism_and_says_what_is_missing(self):
        with self.assertRaisesRegex(ValueError, "did you mean 'fibottention'"):
            fibottention.register_attention("fibotention")
        with lookalikes.installed({"transformers": {}, "timm": {}, "timm.models": {}, "timm.models.vision_transformer": {}}):
            with self.assertRaisesRegex(ImportError, "neither a transformers .* nor a timm"):
                fibottention.register_attention()

    def test_with_transformers_itself(self):
        try:
            from transformers import ViTConfig, ViTModel
        except ImportError:
            self.skipTest("transformers is not installed")
        fibottention.register_attention("full")
        config = ViTConfig(hidden_size=24, num_hidden_layers=2, num_attention_heads=3, intermediate_size=48, image_size=32, patch_size=4)
        model, x = ViTModel(config).eval(), torch.randn(2, 3, 32, 32)
        own = model(x).last_hidden_state
        model.set_attn_implementation("fibottention")
        torch.testing.assert_close(model(x).last_hidden_state, own, rtol=0.0, atol=1e-5)


class Timm(unittest.TestCase):
    def setUp(self):
        torch.manual_seed(0)

    def test_makes_the_attention_by_its_name(self):
        x = torch.randn(2, 31, 24)
        with lookalikes.installed(timm_modules()):
            self.assertEqual(fibottention.register_attention("bigbird:w=2", seed=7), ["timm"])
            for qk_norm in (False, True):
                block = lookalikes.TimmBlock("fibottention", qk_norm=qk_norm)
                attn, y = block.attn, block.norm1(x)
                q, k, v = attn.qkv(y).reshape(2, 31, 3, 3, 8).permute(2, 0, 3, 1, 4)
                mask = fibottention.support("bigbird:w=2,seed=7", tokens=30, heads=3).mask
                out = masked(attn.q_norm(q), attn.k_norm(k), v, mask).transpose(1, 2).flatten(2)
                torch.testing.assert_close(block(x), x + attn.proj(out))

    def test_calls_a_converted_attention_as_new_versions_do(self):
        with lookalikes.installed(timm_modules()):
            sys.modules["timm.models.vision_transformer"].ATTN_LAYERS["normed"] = (
                lambda dim, **options: lookalikes.NormedAttention(dim))
            block = lookalikes.TimmBlock("normed")
        fibottention.convert(block, "local:w=2")
        self.assertEqual(block(torch.randn(1, 9, 24)).shape, (1, 9, 24))
        with self.assertRaisesRegex(ValueError, "takes no attn_mask"):
            block(torch.randn(1, 9, 24), is_causal=True)

    def test_with_timm_itself(self):
        try:
            import timm
        except ImportError:
            self.skipTest("timm is not installed")
        model, x = timm.create_model("vit_tiny_patch16_224", img_size=32, num_classes=3).eval(), torch.randn(1, 3, 32, 32)
        own = model(x)
        torch.testing.assert_close(fibottention.convert(model, "full")(x), own, rtol=0.0, atol=1e-5)

    def test_takes_no_masks(self):
        module = fibottention.FibottentionAttention(24, 3, wmin=2, wmax=9)
        with self.assertRaisesRegex(ValueError, "takes no attn_mask"):
            module(torch.randn(1, 9, 24), attn_mask=torch.ones(9, 9))

    @unittest.skipUnless(FIB, "needs the program")
    def test_loads_the_folder_that_the_program_exports(self):
        """As create_model("local-dir:…") does: a model of the config's arguments, all of its parameters from the file."""
        with tempfile.TemporaryDirectory() as folder:
            weights.save(mini_vit().state_dict(), Path(folder) / "w.safetensors")
            options = ["--model", "mini_vit", "--weights", f"{folder}/w.safetensors", "--attention", "fibottention:wmax=9"]
            x = torch.randn(2, 3, 64, 64)
            numpy.save(f"{folder}/x.npy", x.numpy())
            subprocess.run([FIB, "--quiet", "export", *options, "--timm", f"{folder}/timm"], check=True)
            subprocess.run([FIB, "--quiet", "infer", *options, "--input", f"{folder}/x.npy", "--out", f"{folder}/y.npy"], check=True)
            expected = torch.from_numpy(numpy.load(f"{folder}/y.npy"))
            config = json.loads((Path(folder) / "timm/config.json").read_text())
            state = read_safetensors(f"{folder}/timm/model.safetensors")
        sizes = config["model_args"]
        self.assertEqual((config["architecture"], sizes["global_pool"], sizes["in_chans"]), ("vit_tiny_patch16_224", "token", 3))
        model = VisionTransformer(lambda dim, heads, layer: Attention(dim, heads, qkv_bias=True), sizes["img_size"][0],
                                  sizes["patch_size"], sizes["embed_dim"], sizes["depth"], sizes["num_heads"], config["num_classes"])
        model.load_state_dict(state, strict=True)
        for norm in (m for m in model.modules() if isinstance(m, nn.LayerNorm)):
            norm.eps = 1e-6  # as timm's
        with torch.no_grad():
            found = fibottention.convert(model.eval(), **config["fibottention"])(x)
        torch.testing.assert_close(found, expected, rtol=0.0, atol=1e-4)


def mini_vit():
    torch.manual_seed(0)
    return VisionTransformer(lambda dim, heads, layer: Attention(dim, heads, qkv_bias=True), 64, 8, 48, 3, 3, 10)


def tiny():
    return VisionTransformer(lambda dim, heads, layer: Attention(dim, heads, qkv_bias=True))


class Checkpoints(unittest.TestCase):
    def loading(self, model, state):
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            model.load_state_dict(state)
        return [str(w.message) for w in caught]

    def saved(self, model):
        file = io.BytesIO()
        torch.save(model.state_dict(), file)
        file.seek(0)
        return torch.load(file)

    def test_of_a_converted_model_says_so_in_one_that_is_not(self):
        state = self.saved(fibottention.convert(tiny(), "fibottention", wmax=6))
        said, = self.loading(tiny(), state)
        self.assertRegex(said, "of a model with fibottention:wmax=6 in 2 layers, and this model has its own attention there: "
                               r"fibottention.convert\(model, 'fibottention:wmax=6'\)")
        said, = self.loading(fibottention.convert(tiny(), "local:w=1"), state)
        self.assertIn("this model has local:w=1 there", said)

    def test_says_nothing_where_models_agree_or_nothing_was_converted(self):
        converted = fibottention.convert(tiny(), "fibottention", wmax=6)
        self.assertEqual(self.loading(fibottention.convert(tiny(), "fibottention", wmax=6), self.saved(converted)), [])
        self.assertEqual(self.loading(converted, self.saved(tiny())), [])
        self.assertEqual(self.loading(tiny(), self.saved(fibottention.restore(converted))), [])
        self.assertEqual(list(converted.state_dict()), list(tiny().state_dict()))

    def test_watches_once(self):
        load = nn.Module.load_state_dict
        marks.watch_loading()
        self.assertIs(nn.Module.load_state_dict, load)


@unittest.skipUnless(hasattr(torch, "export") and hasattr(torch.export, "export"), "torch.export came with torch 2.1")
class Export(unittest.TestCase):
    def test_exports_saves_and_loads_a_converted_model(self):
        torch.manual_seed(0)
        model, x = fibottention.convert(tiny().eval(), "fibottention", wmax=6), torch.randn(2, 3, 32, 32)
        with tempfile.TemporaryDirectory() as folder:
            torch.export.save(torch.export.export(model, (x,)), Path(folder) / "model.pt2")
            loaded = torch.export.load(Path(folder) / "model.pt2").module()
        torch.testing.assert_close(loaded(x), model(x))


class Profile(unittest.TestCase):
    def run_it(self, *arguments):
        out, err = io.StringIO(), io.StringIO()
        with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
            code = profile.main([*arguments, "--threads", str(torch.get_num_threads())])
        return code, out.getvalue(), err.getvalue()

    def test_times_a_model_before_and_after_with_the_bound(self):
        code, out, err = self.run_it("test_ecosystem:tiny", "--attention", "local:w=1", "--size", "32", "--repeat", "1", "--json")
        self.assertEqual((code, err), (0, ""))
        row, = json.loads(out)["rows"]
        self.assertAlmostEqual(row["speedup"], row["original_ms"] / row["converted_ms"], delta=0.01)
        self.assertAlmostEqual(row["bound"], row["original_ms"] / row["bound_ms"], delta=0.01)

    def test_leaves_attention_in_place(self):
        model, x = fibottention.convert(tiny().eval(), "full"), torch.randn(1, 3, 32, 32)
        before = model(x)
        with profile.without_attention():
            self.assertFalse(torch.equal(model(x), before))
        self.assertTrue(torch.equal(model(x), before))

    def test_answers_mistakes_in_one_line(self):
        for arguments, message in ((["vit"], "MODEL must be torchvision:NAME"), (["nowhere:vit"], "nowhere cannot be imported"),
                                   (["test_ecosystem:none"], "has no model 'none'"),
                                   (["test_ecosystem:tiny", "--attention", "bigbirt"], "did you mean 'bigbird'")):
            code, _, err = self.run_it(*arguments, "--size", "32")
            self.assertEqual((code, err.count("\n")), (2, 1), err)
            self.assertIn(message, err)

    def test_teaches(self):
        shown = subprocess.run([sys.executable, "-m", "fibottention.profile", "--help"], capture_output=True, text=True)
        self.assertIn("the bound that no attention can pass", shown.stdout.replace("\n", " "))
        self.assertIn("torchvision:vit_b_16", shown.stdout)


class Help(unittest.TestCase):
    def test_names_all_that_there_is(self):
        for name in ("convert", "describe", "restore", "attention", "mechanisms", "support", "register_attention", "profile"):
            self.assertIn(name, fibottention.__doc__)
        for name in fibottention.__all__:
            self.assertTrue(hasattr(fibottention, name), name)


if __name__ == "__main__":
    sys.modules["test_ecosystem"] = sys.modules["__main__"]
    unittest.main()
