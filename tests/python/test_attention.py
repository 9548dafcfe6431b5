# SPDX-License-Identifier: Apache-2.0
"""The operator and the module as a Python user meets them. Run by CTest with Debian's python3-torch."""

import copy
import os
import signal
import subprocess
import sys
import unittest

try:
    import torch
except ImportError:
    print("SKIPPED: this interpreter has no torch")
    sys.exit(77)

import fibottention
from fibottention import c_operators
from tiny_vit import Attention, VisionTransformer

# The wheel's library has the operators by a mechanism's text; the operator library those of any support besides.
WITH_TORCH = "torch" in fibottention.load_library().name
needs_operator_library = unittest.skipUnless(WITH_TORCH, "the operator library has it")
needs_c_library = unittest.skipIf(WITH_TORCH, "the C interface has it")


def wythoff_mask(tokens, heads, wmin, wmax, cls=1):
    """The definition, in floating point and by brute force: bool [heads, tokens, tokens]."""
    phi = (1 + 5 ** 0.5) / 2
    mask = torch.zeros(heads, tokens, tokens, dtype=torch.bool)
    for i in range(1, heads + 1):
        window = wmin + (wmax - wmin) * (i - 1) // (heads - 1) if heads > 1 else wmax
        m = int(i * phi)
        a = int(m * phi)
        b = a + m
        first = a
        while b <= tokens or a <= tokens:
            if a <= window or a == first > window:
                for q in range(cls, tokens):
                    for key in (q - a, q + a):
                        if cls <= key < tokens:
                            mask[i - 1, q, key] = True
            a, b = b, a + b
    mask[:, :cls, :] = True
    mask[:, :, :cls] = True
    return mask


def dense(q, k, v, mask):
    scores = (q @ k.transpose(-2, -1)) * q.shape[-1] ** -0.5
    return scores.masked_fill(~mask, float("-inf")).softmax(-1) @ v


def draw(*shape, **options):
    return torch.randn(*shape, dtype=torch.float64, **options)


class Operator(unittest.TestCase):
    def setUp(self):
        torch.manual_seed(0)

    def test_equals_the_definition(self):
        q, k, v = (draw(2, 3, 31, 8) for _ in range(3))
        out = fibottention.attention(q, k, v, 2, 9)
        torch.testing.assert_close(out, dense(q, k, v, wythoff_mask(31, 3, 2, 9)))

    def test_has_the_contracts_arguments_and_defaults(self):
        schema = str(torch.ops.fibottention.attention.default._schema)
        self.assertIn("Tensor q, Tensor k, Tensor v, int wmin, int wmax, bool modified=False, int cls=1, "
                      "bool causal=False, int? layer=None, str masking=\"exclude\", float? scale=None", schema)

    def test_passes_gradcheck(self):
        inputs = [draw(1, 3, 9, 4, requires_grad=True) for _ in range(3)]
        for options in ({}, {"modified": True}, {"causal": True}, {"cls": 0}, {"layer": 3}, {"masking": "zero"},
                        {"scale": 0.3}):
            with self.subTest(**options):
                run = lambda q, k, v: fibottention.attention(q, k, v, 1, 4, **options)
                self.assertTrue(torch.autograd.gradcheck(run, inputs))

    @needs_operator_library
    def test_generic_operator_passes_gradcheck_with_bias(self):
        support = torch.classes.fibottention.Support(8, 1, [[1], [2, 5]], [True, False], [], False)
        inputs = [draw(2, 2, 9, 3, requires_grad=True) for _ in range(3)]
        bias = draw(1, 2, 9, 9, requires_grad=True)
        run = lambda q, k, v, b: torch.ops.fibottention.support_attention(q, k, v, support, b)[0]
        self.assertTrue(torch.autograd.gradcheck(run, [*inputs, bias]))

    def test_neighbors_and_summaries_pass_gradcheck(self):
        inputs = [draw(1, 3, 13, 4, requires_grad=True) for _ in range(3)]
        run = lambda q, k, v: torch.ops.fibottention.named_attention(q, k, v, "local:w=1,grid=3,summaries=2x3",
                                                                     grid_shape=[3, 4])
        self.assertTrue(torch.autograd.gradcheck(run, inputs))
        with self.assertRaisesRegex(ValueError, "12 are no square"):
            torch.ops.fibottention.named_attention(*inputs, "local:w=1,grid=3")

    def test_packed_operator_passes_gradcheck(self):
        qkv = draw(2, 9, 3, 2, 4, requires_grad=True)
        self.assertTrue(torch.autograd.gradcheck(lambda x: torch.ops.fibottention.attention_packed(x, 1, 3), [qkv]))

    def test_reads_strided_inputs(self):
        qkv = draw(2, 31, 3, 3, 8)
        q, k, v = qkv.permute(2, 0, 3, 1, 4)
        expected = fibottention.attention(q.contiguous(), k.contiguous(), v.contiguous(), 2, 9)
        torch.testing.assert_close(fibottention.attention(q, k, v, 2, 9), expected)
        backwards = draw(8, 31, 3, 2).permute(3, 2, 1, 0)
        torch.testing.assert_close(fibottention.attention(backwards, k, v, 2, 9),
                                   fibottention.attention(backwards.contiguous(), k, v, 2, 9))

    def test_works_under_autocast(self):
        q = torch.randn(2, 3, 31, 8, requires_grad=True)
        with torch.autocast("cpu", dtype=torch.bfloat16):
            narrow = q @ torch.eye(8)
            self.assertEqual(narrow.dtype, torch.bfloat16)
            out = fibottention.attention(narrow, narrow, narrow, 2, 9)
            mixed = fibottention.attention(narrow, q, q, 2, 9)
        self.assertEqual(out.dtype, torch.bfloat16)
        self.assertEqual(mixed.dtype, torch.float32)
        out.float().sum().backward()
        self.assertTrue(torch.isfinite(q.grad).all())
        torch.testing.assert_close(out.float(), fibottention.attention(q, q, q, 2, 9), rtol=0.05, atol=0.05)

    def test_gives_shapes_on_meta_tensors(self):
        q = torch.empty(2, 3, 31, 8, device="meta")
        self.assertEqual(fibottention.attention(q, q, q, 2, 9).shape, q.shape)

    def test_with_a_cache_equals_the_whole_sequence_token_by_token(self):
        q, k, v = torch.randn(3, 2, 3, 60, 8)
        # Of windows 1 and 2 all heads but the first have one offset alone, beyond their window.
        for wmax, options in ((21, {}), (21, {"modified": True}), (21, {"layer": 3}), (21, {"scale": 0.3}), (2, {})):
            options = {"wmin": 1, "wmax": wmax, "cls": 0, "causal": True, **options}
            whole = fibottention.attention(q, k, v, **options)
            one_by_one, in_parts = fibottention.Cache(), fibottention.Cache()
            for t in range(60):
                now = fibottention.attention(*(x[:, :, t:t + 1] for x in (q, k, v)), cache=one_by_one, **options)
                torch.testing.assert_close(now, whole[:, :, t:t + 1], rtol=0, atol=1e-5)
            parts = [fibottention.attention(*(x[:, :, a:b] for x in (q, k, v)), cache=in_parts, **options)
                     for a, b in ((0, 7), (7, 50), (50, 60))]
            torch.testing.assert_close(torch.cat(parts, 2), whole, rtol=0, atol=1e-5)
            self.assertLessEqual(one_by_one.rows, 22)
            self.assertEqual(one_by_one.position, 60)

    def test_names_what_a_cache_refuses(self):
        q, cache = torch.randn(1, 3, 1, 4), fibottention.Cache()
        fibottention.attention(q, q, q, 1, 9, cls=0, causal=True, cache=cache)
        causal = {"cls": 0, "causal": True}
        wide, grad = torch.randn(1, 3, 1, 5), q.clone().requires_grad_()
        bad = [((q, q, q, 1, 9), {"cls": 0}, "causal=True"), ((q, q, q, 1, 9), {"causal": True}, "cls=0"),
               ((q, q, q, 1, 8), causal, "the cache is of"), ((q, wide, q, 1, 9), causal, "as many tokens"),
               ((wide, wide, wide, 1, 9), causal, "the cache is of"), ((grad, q, q, 1, 9), causal, "no_grad"),
               ((q[0], q, q, 1, 9), causal, r"\[3, 1, 4\]")]
        for arguments, options, message in bad:
            with self.subTest(message), self.assertRaisesRegex(ValueError, message):
                fibottention.attention(*arguments, **options, cache=cache)
        self.assertEqual(cache.position, 1)

    def test_refuses_a_second_derivative(self):
        q = draw(1, 3, 9, 4, requires_grad=True)
        grad, = torch.autograd.grad(fibottention.attention(q, q, q, 1, 4).sum(), q, create_graph=True)
        with self.assertRaisesRegex(RuntimeError, "no second derivative"):
            grad.sum().backward()

    def test_names_what_it_refuses(self):
        q = draw(1, 3, 9, 4)
        bad = [((q[0], q, q, 1, 4), {}, r"\[3, 9, 4\]"), ((q, q, q, 5, 4), {}, "wmin 5 and wmax 4"),
               ((q, q.float(), q, 1, 4), {}, r"k is (Float|torch.float32) but q is (Double|torch.float64)"), ((q, q, q, 1, 4), {"cls": 9}, "got 9"),
               ((q, q, q, 1, 4), {"masking": "none"}, "'none'"), ((q, q, q, 1, 4), {"layer": -1}, "got -1")]
        for arguments, options, message in bad:
            with self.subTest(message=message), self.assertRaisesRegex((RuntimeError, ValueError), message):
                fibottention.attention(*arguments, **options)


@needs_c_library
class OtherDevices(unittest.TestCase):
    """What stands in for the kernels there, in torch's own operations, against the kernels."""

    def test_computes_the_same(self):
        torch.manual_seed(0)
        x = [draw(2, 3, 31, 8, requires_grad=True) for _ in range(3)]
        bias, lengths = draw(1, 3, 31, 31), torch.tensor([31, 20])
        for options in ({}, {"causal": True}, {"layer": 3}, {"scale": 0.3}, {"zero_masking": True}, {"bias": bias},
                        {"lengths": lengths}, {"cls": 0}):
            with self.subTest(**options):
                a = c_operators.Arguments("fibottention:wmin=2,wmax=9", 1, False, None, [], None, None, None, False, 0.0, None)
                a = a._replace(**options)
                ours, theirs = torch.ops.fibottention.attention_forward(x, *a), c_operators.composite(x, *a)
                torch.testing.assert_close(ours[0], theirs[0])
                torch.testing.assert_close(ours[1], theirs[1])
                torch.testing.assert_close(torch.autograd.grad(ours[0].square().sum(), x),
                                           torch.autograd.grad(theirs[0].square().sum(), x))

    def test_gives_zeros_to_a_query_without_keys(self):
        q = draw(1, 1, 3, 4, requires_grad=True)
        a = c_operators.Arguments("offsets", 0, False, None, [], None, torch.tensor([1]), None, False, 0.0, None)
        out, _ = c_operators.composite([q, q, q], *a)
        self.assertTrue(torch.equal(out[0, 0, 1:], torch.zeros(2, 4, dtype=torch.float64)))
        out.sum().backward()
        self.assertTrue(torch.isfinite(q.grad).all())


class Hostile(unittest.TestCase):
    """Tensors that nobody would give on purpose: an answer, or one line; never a crash, and never other memory."""

    def setUp(self):
        torch.manual_seed(0)

    def refuses(self, message, *tensors, **options):
        with self.subTest(message=message), self.assertRaisesRegex((RuntimeError, ValueError, TypeError), message) as caught:
            fibottention.attention(*tensors, 1, 4, **options)
        return str(caught.exception)

    def test_expanded_tensors_are_their_copies(self):
        q, k, v = draw(1, 1, 1, 4).expand(2, 3, 9, 4), draw(2, 1, 9, 4).expand(2, 3, 9, 4), draw(2, 3, 1, 4).expand(2, 3, 9, 4)
        copies = [t.contiguous().requires_grad_() for t in (q, k, v)]
        same = [t.clone(memory_format=torch.preserve_format).requires_grad_() for t in (q, k, v)]
        given = [t.detach().requires_grad_() for t in (q, k, v)]
        outs = [fibottention.attention(*tensors, 1, 4) for tensors in (copies, same, given)]
        for tensors, out in zip((copies, same, given), outs):
            out.sin().sum().backward()
            torch.testing.assert_close(out, outs[0])
            for a, b in zip(tensors, copies):
                torch.testing.assert_close(a.grad, b.grad)

    def test_sizes_of_zero(self):
        empty = fibottention.attention(*(draw(0, 3, 9, 4, requires_grad=True) for _ in range(3)), 1, 4)
        self.assertEqual(empty.shape, (0, 3, 9, 4))
        empty.sum().backward()
        for shape in ((2, 0, 9, 4), (2, 3, 0, 4), (2, 3, 9, 0)):
            self.refuses(".", *(draw(*shape) for _ in range(3)))

    def test_shapes_and_types_that_do_not_fit(self):
        q = draw(2, 3, 9, 4)
        for wrong in (draw(2, 3, 9, 5), draw(2, 3, 8, 4), draw(2, 2, 9, 4), draw(1, 3, 9, 4), draw(9, 4), draw(()), draw(2, 3, 9, 4, 1)):
            self.refuses(".", q, wrong, q)
        for wrong in (q.to(torch.int64), q.to(torch.bool), q.to(torch.complex64), q.to(torch.float16), q.to_sparse(), q.to("meta")):
            self.refuses(".", q, wrong, q)
            self.refuses(".", q, q, wrong)
        self.refuses(".", q.to(torch.int64), q.to(torch.int64), q.to(torch.int64))
        self.refuses(".", q[..., :1].expand(2, 3, 9, 513), q[..., :1].expand(2, 3, 9, 513), q)

    def test_options_that_cannot_be(self):
        q = draw(1, 3, 9, 4)
        for options in ({"cls": -1}, {"cls": 2 ** 62}, {"layer": 2 ** 62}, {"scale": float("nan")}, {"scale": float("inf")}):
            self.refuses(".", q, q, q, **options)
        for wmin, wmax in ((-1, 4), (1, -4), (2 ** 62, 2 ** 62), (0, 0)):
            with self.subTest(wmin=wmin), self.assertRaises((RuntimeError, ValueError)):
                fibottention.attention(q, q, q, wmin, wmax)

    def test_what_is_no_number_stays_in_the_rows_that_see_it(self):
        for bad in (float("nan"), float("inf")):
            q, k, v = (draw(1, 2, 31, 8) for _ in range(3))
            v[0, 0, 30, 3] = bad
            out = fibottention.attention(q, k, v, 1, 3)
            self.assertTrue(torch.isfinite(out[0, 1]).all())
            self.assertTrue(torch.isfinite(out[0, 0, 1:20]).all())
            self.assertTrue(torch.isfinite(out[0, 0, :, :3]).all())
            self.assertFalse(torch.isfinite(out[0, 0, 29, 3]))

    def test_a_gradient_of_any_layout(self):
        leaves = [draw(2, 3, 9, 4, requires_grad=True) for _ in range(3)]
        grad = draw(4, 9, 3, 2).permute(3, 2, 1, 0)
        for given in (grad, torch.ones(1).double().expand(2, 3, 9, 4), grad.flip(2)):
            out = fibottention.attention(*leaves, 1, 4)
            for a, b in zip(torch.autograd.grad(out, leaves, given, retain_graph=True),
                            torch.autograd.grad(out, leaves, given.contiguous())):
                torch.testing.assert_close(a, b)


class Callers(unittest.TestCase):
    """Threads and children after fork(), as data loaders have them."""

    def setUp(self):
        torch.manual_seed(0)
        self.inputs = [torch.randn(2, 6, 197, 32) for _ in range(3)]

    def run_both_ways(self):
        leaves = [t.clone().requires_grad_() for t in self.inputs]
        out = fibottention.attention(*leaves, 5, 65)
        return [out.detach(), *torch.autograd.grad(out.sin().sum(), leaves)]

    def test_ten_threads_get_the_same_bits(self):
        from concurrent.futures import ThreadPoolExecutor
        alone = self.run_both_ways()
        with ThreadPoolExecutor(10) as pool:
            for result in pool.map(lambda _: self.run_both_ways(), range(20)):
                self.assertTrue(all(torch.equal(a, b) for a, b in zip(result, alone)))

    def test_a_child_after_fork_gets_the_same_bits(self):
        threads = torch.get_num_threads()
        torch.set_num_threads(4)
        parents = fibottention.attention(*self.inputs, 5, 65)
        torch.set_num_threads(threads)
        bits = parents.numpy().tobytes()  # torch's own comparison would wait for threads of its parent
        child = os.fork()
        if child == 0:
            signal.alarm(60)  # where it waits for threads that it has not
            os._exit(0 if fibottention.attention(*self.inputs, 5, 65).numpy().tobytes() == bits else 1)
        self.assertEqual(os.waitpid(child, 0)[1], 0)

    def test_workers_of_a_data_loader(self):
        inputs, whole = self.inputs, fibottention.attention(*self.inputs, 5, 65)

        class Rows(torch.utils.data.Dataset):
            def __len__(self):
                return 2

            def __getitem__(self, i):
                return fibottention.attention(*(t[i:i + 1] for t in inputs), 5, 65)[0]

        loaded = list(torch.utils.data.DataLoader(Rows(), num_workers=2, timeout=60))
        self.assertTrue(torch.equal(torch.cat(loaded), whole))


class Compiler(unittest.TestCase):
    """What torch.compile needs to know of the operator."""

    def setUp(self):
        torch.manual_seed(0)

    @unittest.skipUnless(hasattr(torch.library, "opcheck"), "opcheck came with torch 2.4")
    def test_passes_opcheck(self):
        q, k, v = (torch.randn(2, 3, 31, 8, requires_grad=True) for _ in range(3))
        qkv = torch.randn(2, 31, 3, 3, 8, requires_grad=True)
        operators = torch.ops.fibottention
        torch.library.opcheck(operators.attention.default, (q, k, v, 2, 9), {"layer": 3})
        torch.library.opcheck(operators.attention.default, (q.detach(), k.detach(), v.detach(), 2, 9), {"causal": True})
        torch.library.opcheck(operators.attention_packed.default, (qkv, 2, 9), {"masking": "zero"})

    @unittest.skipUnless(hasattr(torch, "compile"), "torch.compile came with torch 2.0")
    def test_stands_in_one_compiled_graph_of_any_size(self):
        module = fibottention.FibottentionAttention(24, 3, wmin=2, wmax=9)
        compiled = torch.compile(module, fullgraph=True, dynamic=True, backend="aot_eager")
        for tokens in (31, 45):
            x = torch.randn(2, tokens, 24, requires_grad=True)
            grads = [torch.autograd.grad(f(x).square().sum(), [x, module.qkv.weight]) for f in (module, compiled)]
            torch.testing.assert_close(grads[1], grads[0])

    @unittest.skipUnless(hasattr(torch, "compile"), "torch.compile came with torch 2.0")
    def test_draws_dropout_anew_in_a_compiled_graph(self):
        module = fibottention.FibottentionAttention(24, 3, attn_drop=0.5, wmin=2, wmax=9)
        compiled = torch.compile(module, fullgraph=True, backend="aot_eager")
        x = torch.randn(1, 31, 24, requires_grad=True)
        self.assertFalse(torch.equal(compiled(x), compiled(x)))

    def test_tells_its_shape_to_fake_tensors(self):
        from torch._subclasses.fake_tensor import FakeTensorMode
        with FakeTensorMode():
            out = fibottention.attention(*(torch.empty(2, 3, 31, 8) for _ in range(3)), 2, 9)
        self.assertEqual((tuple(out.shape), out.device.type), ((2, 3, 31, 8), "cpu"))


class Library(unittest.TestCase):
    def run_python(self, code, **environment):
        result = subprocess.run([sys.executable, "-c", code], env={**os.environ, **environment}, text=True,
                                capture_output=True)
        return result.returncode, result.stdout + result.stderr

    @needs_operator_library
    def test_loads_in_a_clean_process_without_the_package(self):
        path = fibottention.load_library()
        code = (f"import torch; torch.ops.load_library({str(path)!r}); q = torch.randn(1, 3, 9, 4); "
                "print(tuple(torch.ops.fibottention.attention(q, q, q, 1, 4).shape))")
        self.assertEqual(self.run_python(code, PYTHONPATH=""), (0, "(1, 3, 9, 4)\n"))

    def test_warns_of_nothing(self):
        code = ("import torch, warnings; warnings.simplefilter('error'); import fibottention; "
                "q = torch.randn(1, 3, 9, 4, requires_grad=True); fibottention.attention(q, q, q, 1, 4).sum().backward()")
        self.assertEqual(self.run_python(code), (0, ""))

    def test_says_where_it_looked(self):
        status, output = self.run_python("import fibottention", FIBOTTENTION_LIBRARY="/nowhere/lib.so")
        self.assertNotEqual(status, 0)
        self.assertIn("looked at /nowhere/lib.so", output)


class Module(unittest.TestCase):
    def setUp(self):
        torch.manual_seed(0)

    @staticmethod
    def make(dim, heads, layer):
        return fibottention.FibottentionAttention(dim, heads, qkv_bias=True, wmin=2, wmax=12, layer=layer)

    def test_takes_timms_weights_by_name(self):
        timm_like = VisionTransformer(lambda dim, heads, layer: Attention(dim, heads, qkv_bias=True))
        VisionTransformer(self.make).load_state_dict(timm_like.state_dict(), strict=True)

    def test_equals_timms_attention_under_the_mask(self):
        module = fibottention.FibottentionAttention(24, 3, qkv_bias=True, wmin=2, wmax=9).double()
        x = draw(2, 31, 24)
        q, k, v = module.qkv(x).reshape(2, 31, 3, 3, 8).permute(2, 0, 3, 1, 4)
        expected = module.proj(dense(q, k, v, wythoff_mask(31, 3, 2, 9)).transpose(1, 2).reshape(2, 31, 24))
        torch.testing.assert_close(module(x), expected)

    def test_chooses_windows_from_the_input(self):
        free = fibottention.FibottentionAttention(24, 3)
        fixed = fibottention.FibottentionAttention(24, 3, wmin=5, wmax=10)
        fixed.load_state_dict(free.state_dict())
        x = torch.randn(1, 31, 24)
        torch.testing.assert_close(free(x), fixed(x))
        self.assertEqual(free(torch.randn(1, 2, 24)).shape, (1, 2, 24))

    def test_drops_only_in_training(self):
        module = fibottention.FibottentionAttention(24, 3, attn_drop=0.5)
        x = torch.randn(1, 31, 24)
        self.assertFalse(torch.equal(module(x), module(x)))
        module.eval()
        self.assertTrue(torch.equal(module(x), module(x)))

    def test_can_be_copied_and_printed(self):
        module = fibottention.FibottentionAttention(24, 3, wmin=2, wmax=9)
        self.assertIn("wmax=9", repr(copy.deepcopy(module)))

    def test_trains_a_small_vision_transformer(self):
        model = VisionTransformer(self.make)
        optimiser = torch.optim.AdamW(model.parameters(), lr=1e-3)
        images, labels = torch.randn(8, 3, 32, 32), torch.randint(10, (8,))
        losses = []
        for _ in range(4):
            loss = torch.nn.functional.cross_entropy(model(images), labels)
            optimiser.zero_grad()
            loss.backward()
            optimiser.step()
            losses.append(loss.item())
        self.assertLess(losses[-1], losses[0])
        self.assertTrue(all(p.grad is not None and torch.isfinite(p.grad).all() for p in model.parameters()))


if __name__ == "__main__":
    unittest.main()
