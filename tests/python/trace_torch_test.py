"""`uvmsim trace torch` and `uvmsim.trace`, beside the generators of the same networks. Skipped (77) where no PyTorch is
installed (Debian: python3-torch and python3-torchvision).

usage: trace_torch_test.py UVMSIM
"""
import importlib.util
import json
import os
import pathlib
import subprocess
import sys
import tempfile
import types
import unittest

DEBIAN_PYTHON = "/usr/bin/python3"
if importlib.util.find_spec("torch") is None or importlib.util.find_spec("torchvision") is None:
    if sys.executable != DEBIAN_PYTHON and os.path.exists(DEBIAN_PYTHON):
        os.execv(DEBIAN_PYTHON, [DEBIAN_PYTHON, "-B", *sys.argv])
    print("skipped: PyTorch and torchvision are not installed")
    sys.exit(77)

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parents[1] / "python"))
UVMSIM = sys.argv.pop(1)
os.environ["UVMSIM"] = UVMSIM


def uvmsim(*arguments):
    return subprocess.run([UVMSIM, *map(str, arguments)], capture_output=True, text=True)


class TracedCase(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)

    def info(self, file):
        shown = uvmsim("trace", "info", file, "--json")
        self.assertEqual(shown.returncode, 0, shown.stderr)
        info = json.loads(shown.stdout)
        info["kinds"] = {kind["name"]: kind for kind in info["kinds"]}
        return info

    def trace(self, script, *arguments, **options):
        """The trace of a script of models/, and what `trace info` says of it."""
        file = self.folder / "traced.uvmtrace"
        extra = [part for key, value in options.items() for part in ("--" + key, value)]
        made = uvmsim("trace", "torch", HERE / "models" / script, "--python", sys.executable, "-o", file, *extra, "--",
                      *arguments)
        self.assertEqual(made.returncode, 0, made.stderr)
        return file, self.info(file)

    def generate(self, generator, *settings):
        file = self.folder / "generated.uvmtrace"
        sets = [part for setting in settings for part in ("--set", setting)]
        made = uvmsim("trace", "gen", generator, "--iterations", 2, *sets, "-o", file)
        self.assertEqual(made.returncode, 0, made.stderr)
        return self.info(file)


class AsTheGenerators(TracedCase):
    """The generators re-enact these networks from the sources of PyTorch and of the models; PyTorch itself has to say
    the same. Differences are the tensors that the generators leave out, and the optimizer of this PyTorch: weight decay
    makes a new tensor where the generators' older one adds to the gradient."""

    def compare(self, script, generator, *settings, buffers):
        _, traced = self.trace(script)
        generated = self.generate(generator, "torch=2.x", *settings)
        kinds, others = traced["kinds"], generated["kinds"]
        self.assertEqual(kinds["param"]["allocated_bytes"] - others["param"]["allocated_bytes"], buffers)
        self.assertAlmostEqual(kinds["act"]["allocated_bytes"] / others["act"]["allocated_bytes"], 1, delta=0.02)
        self.assertAlmostEqual(kinds["act"]["peak_bytes"] / others["act"]["peak_bytes"], 1, delta=0.02)
        self.assertEqual(kinds["opt"]["allocated_bytes"], others["opt"]["allocated_bytes"])
        for one, other in zip(traced["iterations"], generated["iterations"], strict=True):
            self.assertAlmostEqual(one["peak_live_bytes"] / other["peak_live_bytes"], 1, delta=0.02)
        self.assertAlmostEqual(traced["in_core_ns"] / generated["in_core_ns"], 1, delta=0.02)
        self.assertAlmostEqual(traced["flops"] / generated["flops"], 1, delta=0.02)

    # Of each of the 53 batch normalisations PyTorch counts the batches in an int64.
    def test_resnet50(self):
        self.compare("resnet50.py", "resnet50", "batch=32", buffers=53 * 8)

    def test_vgg16(self):
        self.compare("vgg16.py", "vgg16", "batch=32", buffers=0)

    # The model keeps its 512 positions as int64.
    def test_bert_base(self):
        self.compare("bert_base.py", "bert_base", "batch=32", buffers=512 * 8)


class Steps(TracedCase):
    WEIGHTS = 8 * (1024 * 1024 + 1024) * 4  # bytes
    ACTIVATION = 4096 * 1024 * 4  # of one result of one layer
    MASK = 4096 * 1024

    # Each layer keeps what it multiplies with (the first one the input, which is no activation), the result of ReLU and
    # the mask of dropout; the last dropout's result is not kept.
    def test_activations_are_kept_for_backward(self):
        _, info = self.trace("perceptron.py", "sgd")
        kept = 7 * self.ACTIVATION + 8 * (self.ACTIVATION + self.MASK)
        self.assertGreaterEqual(info["kinds"]["act"]["peak_bytes"], kept)
        self.assertLess(info["kinds"]["act"]["peak_bytes"], kept + 3 * self.ACTIVATION)
        self.assertEqual(info["samples"], 4096)

    # Only the inputs of the layers are kept, and one layer's inside at a time.
    def test_checkpoints_keep_inputs_only(self):
        _, info = self.trace("perceptron.py", "sgd", "checkpoint")
        kept = 7 * self.ACTIVATION
        self.assertGreaterEqual(info["kinds"]["act"]["peak_bytes"], kept)
        self.assertLess(info["kinds"]["act"]["peak_bytes"], kept + 5 * self.ACTIVATION)

    # Reentrant ones cannot begin at the input, which needs no gradient: the first layer keeps its inside.
    def test_reentrant_checkpoints(self):
        _, info = self.trace("perceptron.py", "sgd", "checkpoint", "reentrant")
        kept = 8 * self.ACTIVATION + self.MASK
        self.assertGreaterEqual(info["kinds"]["act"]["peak_bytes"], kept)
        self.assertLess(info["kinds"]["act"]["peak_bytes"], kept + 5 * self.ACTIVATION)

    # The forward products a second time: 4 of 3.
    def test_checkpoints_compute_again(self):
        _, plain = self.trace("perceptron.py", "sgd")
        _, again = self.trace("perceptron.py", "sgd", "checkpoint")
        self.assertAlmostEqual(again["flops"] / plain["flops"], 4 / 3, delta=0.02)

    # Products of halves, of weights that are cast once: activations of half the size.
    def test_autocast_halves_activations(self):
        _, full = self.trace("perceptron.py", "sgd")
        _, half = self.trace("perceptron.py", "sgd", "amp")
        kept = 7 * self.ACTIVATION // 2 + 8 * (self.ACTIVATION // 2 + self.MASK)
        self.assertGreaterEqual(half["kinds"]["act"]["peak_bytes"], kept)
        self.assertLess(half["kinds"]["act"]["peak_bytes"], kept + 4 * self.ACTIVATION)
        self.assertEqual(half["kinds"]["param"]["allocated_bytes"], full["kinds"]["param"]["allocated_bytes"])
        self.assertLess(half["in_core_ns"], full["in_core_ns"])

    def test_adam_keeps_two_moments(self):
        _, info = self.trace("perceptron.py")
        self.assertEqual(info["kinds"]["param"]["allocated_bytes"], self.WEIGHTS)
        self.assertEqual(info["kinds"]["opt"]["allocated_bytes"], 2 * self.WEIGHTS)

    # One kernel, and none of the temporaries of the plain one.
    def test_fused_adam_is_one_kernel(self):
        _, plain = self.trace("perceptron.py")
        _, fused = self.trace("perceptron.py", "fused")
        self.assertEqual(fused["kinds"]["opt"]["allocated_bytes"], 2 * self.WEIGHTS)
        self.assertEqual(fused["kinds"]["ws"]["allocated_bytes"], 0)
        self.assertGreater(plain["kinds"]["ws"]["allocated_bytes"], 0)
        self.assertLess(fused["iterations"][-1]["kernels"], plain["iterations"][-1]["kernels"] - 8 * 2)

    # What a layer was given, what its ReLU was given, and that one's result; dropout does nothing.
    def test_inference_keeps_nothing(self):
        _, info = self.trace("perceptron.py", "inference")
        self.assertEqual(info["kinds"]["act"]["peak_bytes"], 3 * self.ACTIVATION)
        self.assertEqual(info["kinds"]["wgrad"]["tensors"], 0)

    def test_durations_are_of_the_gpu_that_is_asked_for(self):
        _, v100 = self.trace("perceptron.py")
        _, h100 = self.trace("perceptron.py", gpu="h100")
        self.assertEqual(h100["devices"][0]["name"], "H100-SXM-80GB")
        self.assertLess(h100["in_core_ns"], v100["in_core_ns"] / 2)

    def test_runs_in_core_and_oversubscribed(self):
        file, info = self.trace("resnet50.py")
        config = self.folder / "config.json"
        config.write_text(json.dumps({
            "name": "traced", "machine": {"extends": "machines/v100_sxm2_16gb.json"},
            "workload": {"trace": str(file), "memory": "managed", "allocator": "torch_2"},
            "run": {"warmup": 2, "iterations": 1}}))  # the second one still touches memory for the first time
        slowdowns = []
        for memory in ("16 GB", "2.4 GB"):  # it needs 3 GB
            ran = uvmsim("run", config, "--set", f"machine.gpu.usable_memory={memory}", "--json")
            self.assertEqual(ran.returncode, 0, ran.stderr)
            summary = json.loads(ran.stdout)["summary"]
            self.assertGreaterEqual(summary["in_core_duration_s"], info["iterations"][1]["in_core_ns"] * 1e-9)
            slowdowns.append(summary["slowdown"])
        self.assertAlmostEqual(slowdowns[0], 1)
        self.assertGreater(slowdowns[1], 2)


    # A loader, a schedule, clipping, a loss over what is selected.
    def test_a_whole_training_script(self):
        script = self.folder / "script.py"
        script.write_text("""
import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset
device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
model = nn.Sequential(nn.Linear(64, 64), nn.LayerNorm(64), nn.Linear(64, 8)).to(device)
optimizer = torch.optim.AdamW(model.parameters())
schedule = torch.optim.lr_scheduler.StepLR(optimizer, 1)
loader = iter(DataLoader(TensorDataset(torch.randn(64, 64), torch.zeros(64, dtype=torch.long)), batch_size=16))
def step():
    x, classes = (part.to(device, non_blocking=True) for part in next(loader))
    y = model(x)
    loss = nn.functional.cross_entropy(y, classes, label_smoothing=0.1) + y.masked_select(y > 0).mean()
    optimizer.zero_grad()
    loss.backward()
    nn.utils.clip_grad_norm_(model.parameters(), 1.0)
    optimizer.step()
    schedule.step()
""")
        out = self.folder / "out.uvmtrace"
        made = uvmsim("trace", "torch", script, "--python", sys.executable, "-o", out)
        self.assertEqual(made.returncode, 0, made.stderr)
        self.assertNotIn("Warning", made.stderr)
        self.assertIn("unknown: masked_select: taken to select everything", made.stderr)
        info = self.info(out)
        self.assertEqual(info["samples"], 16)
        self.assertEqual([one["index"] for one in info["iterations"]], [-1, 0, 1])


    def kernels(self, script, *arguments):
        """The kernels of the last step of a script, as [name, operands]."""
        path, out = self.folder / "script.py", self.folder / "out.uvmtrace"
        path.write_text(script)
        made = uvmsim("trace", "torch", path, "--python", sys.executable, "-o", out, "--", *arguments)
        self.assertEqual(made.returncode, 0, made.stderr)
        names, kernels = [], []
        for record in map(json.loads, out.read_text().splitlines()):
            if record[0] == "S":
                names.append(record[2])
            elif record[0] == "I":
                kernels = []
            elif record[0] == "K":
                kernels.append([names[record[1]], record[4]])
        return kernels, made.stderr

    # Of two layers, 4 gradients are read and written, and the mark of what is infinite; the scale is read. The loss is
    # multiplied by it. A fused optimizer unscales as it steps; what is not enabled does nothing.
    def test_a_scaler_reads_and_writes_all_gradients(self):
        script = """
import sys, torch
model = torch.nn.Sequential(torch.nn.Linear(64, 64), torch.nn.Linear(64, 8)).cuda()
optimizer = torch.optim.Adam(model.parameters(), fused="fused" in sys.argv)
scaler = torch.cuda.amp.GradScaler(enabled="off" not in sys.argv)
def step():
    with torch.cuda.amp.autocast():
        loss = model(torch.randn(16, 64)).float().mean()
    scaler.scale(loss).backward()
    if "clip" in sys.argv:
        scaler.unscale_(optimizer)
    scaler.step(optimizer)
    scaler.update()
    assert scaler.is_enabled() == ("off" not in sys.argv)
"""
        for arguments in ((), ("clip",)):
            kernels, _ = self.kernels(script, *arguments)
            unscaled = [operands for name, operands in kernels if name.startswith("_amp_foreach_non_finite")]
            self.assertEqual([len(operands) for operands in unscaled], [4 + 1 + 1])
            self.assertEqual(sorted(mode for _, mode, *_ in unscaled[0]), [1, 3, 3, 3, 3, 3])
            self.assertIn("_amp_update_scale_", [name for name, _ in kernels])
        for arguments in (("fused",), ("off",)):
            names = [name for name, _ in self.kernels(script, *arguments)[0]]
            self.assertFalse([name for name in names if name.startswith("_amp_foreach")])

    # One kernel for all parameters, where the plain one has some for each.
    def test_optimizers_over_lists(self):
        script = """
import torch
model = torch.nn.Sequential(*(torch.nn.Linear(64, 64) for _ in range(3)))
optimizer = torch.optim.Adam(model.parameters(), foreach=True)
def step():
    model(torch.randn(8, 64)).sum().backward()
    optimizer.step()
"""
        lists = [operands for name, operands in self.kernels(script)[0] if name == "_foreach_addcdiv_"]
        self.assertEqual([sum(mode == 3 for _, mode, *_ in operands) for operands in lists], [6])

    # Operators without shapes on meta in 1.13, and a module that looks at its own count.
    def test_shapes_that_pytorch_lacks(self):
        kernels, _ = self.kernels("""
import torch
from torch import nn
model = nn.utils.weight_norm(nn.Linear(64, 20)).cuda()
other = nn.Linear(4, 4).cuda()
average = torch.optim.swa_utils.AveragedModel(other)
def step():
    y = model(torch.randn(50, 4, 64).cuda()).log_softmax(-1)
    targets = torch.randint(1, 20, (4, 10)).cuda()
    nn.functional.ctc_loss(y, targets, torch.full((4,), 50), torch.full((4,), 10)).backward()
    average.update_parameters(other)
""")
        names = [name for name, _ in kernels]
        for name in ("_weight_norm_interface", "_ctc_loss"):
            self.assertIn(name, names)
            self.assertIn(name + "_backward", names)

    # Of a table of 1000 rows, those of 5 indices are read and, by a sparse gradient, updated.
    def test_sparse_gradients_update_their_rows(self):
        kernels, _ = self.kernels("""
import torch
model = torch.nn.EmbeddingBag(1000, 64, mode="sum", sparse=True).cuda()
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
def step():
    optimizer.zero_grad(set_to_none=True)
    model(torch.tensor([[1, 2, 4, 5, 4]]).cuda()).sum().backward()
    optimizer.step()
""")
        rows = [2, {"g": 256, "n": 5}]
        of_table = {name: [(mode, *pattern) for _, mode, *pattern in operands if list(pattern) == rows]
                    for name, operands in kernels}
        self.assertEqual(of_table["_embedding_bag"], [(1, *rows)])
        self.assertEqual(of_table["add_"], [(3, *rows)])

    # Everything is on meta already.
    def test_a_mode_of_fake_tensors_is_let_be(self):
        kernels, _ = self.kernels("""
import torch
from torch._subclasses.fake_tensor import FakeTensorMode
with FakeTensorMode():
    model, x = torch.nn.Linear(64, 8), torch.randn(16, 64)
def step():
    model(x).sum().backward()
""")
        self.assertIn("addmm", [name for name, _ in kernels])


class Faults(TracedCase):
    def fault(self, text, *, python=sys.executable):
        """What is said of a script, whose first line is 1."""
        script, out = self.folder / "script.py", self.folder / "out.uvmtrace"
        script.write_text(text)
        made = uvmsim("trace", "torch", script, "--python", python, "-o", out)
        self.assertEqual(made.returncode, 2, made.stderr)
        self.assertEqual(sorted(path.name for path in self.folder.iterdir()), ["script.py"])
        return made.stderr.replace(str(script), "script.py")

    MODEL = "import torch\nmodel = torch.nn.Linear(4, 4)\ndef step():\n    y = model(torch.randn(2, 4)).sum()\n"

    def test_values_are_asked_for(self):
        said = self.fault(self.MODEL + "    if y > 0:\n        y.backward()\n")
        self.assertIn("script.py:5: aten._local_scalar_dense.default needs values", said)
        self.assertIn("leave .item()", said)

    def test_sizes_that_depend_on_values(self):
        self.assertIn("script.py:5: aten.nonzero.default needs values", self.fault(self.MODEL + "    y.nonzero()\n"))

    def test_no_shapes(self):
        said = self.fault(self.MODEL + "    torch.ops.mine.odd(model.weight)\n"
                          "library = torch.library.Library('mine', 'DEF')\n"
                          "library.define('odd(Tensor x) -> Tensor')\n")
        self.assertRegex(said, r"script.py:5: mine(::odd|.odd.default) has no shapes on meta tensors")

    def test_the_script_fails(self):
        self.assertIn("script.py:2: ValueError: no luck", self.fault("import torch\nraise ValueError('no luck')\n"))
        self.assertIn("script.py:1: SyntaxError", self.fault("x = (\n"))

    def test_no_step(self):
        self.assertIn("script.py: defines no function step()", self.fault("import torch\n"))

    def test_other_processes_are_not_there(self):
        said = self.fault("import torch\nmodel = torch.nn.parallel.DistributedDataParallel(torch.nn.Linear(4, 4))\n")
        self.assertRegex(said, r"script.py:2: (Runtime|Value)Error: Default process group")
        self.assertIn("""--set 'workload.transforms=[{"name": "ddp"}]'""", said)

    def test_no_such_python(self):
        self.assertIn("--python: no such program: no-python", self.fault("", python="no-python"))

    def test_no_such_file_or_gpu(self):
        self.assertIn("no such file", uvmsim("trace", "torch", "nowhere.py").stderr)
        self.assertIn("did you mean", uvmsim("trace", "torch", "nowhere.py", "--gpu", "dgx1_v100_32g").stderr)


class FromPython(TracedCase):
    """A model with values in a process of its own is traced, and stays as it was."""

    def test_model_is_left_as_it_was(self):
        import torch
        import uvmsim as package
        model = torch.nn.Sequential(torch.nn.Linear(64, 64), torch.nn.Dropout(), torch.nn.Linear(64, 8))
        optimizer = torch.optim.Adam(model.parameters())
        x, classes = torch.randn(16, 64), torch.randint(0, 8, (16,))

        def step():
            torch.nn.functional.cross_entropy(model(x), classes).backward()
            optimizer.step()
            optimizer.zero_grad()

        step()
        weight = model[0].weight
        values, moment = weight.detach().clone(), optimizer.state[weight]["exp_avg"].clone()
        file = package.trace(step, model, optimizer, output=self.folder / "step.uvmtrace")
        self.assertIs(model[0].weight, weight)
        self.assertTrue(torch.equal(weight, values))
        self.assertTrue(torch.equal(optimizer.state[weight]["exp_avg"], moment))
        info = self.info(file)
        self.assertEqual(info["kinds"]["param"]["allocated_bytes"], sum(p.numel() for p in model.parameters()) * 4)
        step()
        self.assertFalse(torch.equal(weight, values))

    def test_operators_that_need_values_are_exceptions(self):
        import torch
        import uvmsim as package
        model = torch.nn.Linear(4, 4)
        out = self.folder / "step.uvmtrace"
        with self.assertRaisesRegex(package.ScriptError, "_local_scalar_dense.default needs values"):
            package.trace(lambda: model(torch.randn(2, 4)).sum().item(), model, output=out)
        self.assertFalse(out.exists())
        self.assertEqual(model.weight.device.type, "cpu")

    def test_a_script_may_call_it(self):
        script = self.folder / "script.py"
        script.write_text("import torch, uvmsim\nmodel = torch.nn.Linear(4, 4)\n"
                          "uvmsim.trace(lambda: model(torch.randn(2, 4)).sum().backward(), model)\n")
        out = self.folder / "out.uvmtrace"
        made = uvmsim("trace", "torch", script, "--python", sys.executable, "-o", out)
        self.assertEqual(made.returncode, 0, made.stderr)
        self.assertEqual(self.info(out)["kinds"]["param"]["allocated_bytes"], (4 * 4 + 4) * 4)


class NewerVersions(unittest.TestCase):
    """What newer versions than Debian's have, by stand-ins of their form."""

    def test_a_fused_optimizer_may_be_a_kind_of_another(self):
        from uvmsim import torch_compat

        class Adam:
            def __init__(self, fused=None):
                self.given = fused

        class AdamW(Adam):  # as since 2.6
            def __init__(self, fused=None):
                super().__init__(fused=fused)

        patches = torch_compat._Patches()
        for kind in (Adam, AdamW):
            torch_compat._allow_fused(patches, kind)
        optimizer = AdamW(fused=True)
        self.assertFalse(optimizer.given)  # a real one would refuse meta tensors
        self.assertTrue(torch_compat.is_fused(optimizer))
        self.assertFalse(torch_compat.is_fused(AdamW(fused=False)))

    # As since 2.0: register_forward_pre_hook(self, hook, *, prepend=False, with_kwargs=False), and
    # register_forward_hook(self, hook, *, prepend=False, with_kwargs=False, always_call=False).
    def test_inputs_by_name_are_seen(self):
        from uvmsim import torch_compat

        class Module:
            def register_forward_pre_hook(self, hook, *, prepend=False, with_kwargs=False):
                self.before = hook if with_kwargs else None

            def register_forward_hook(self, hook, *, prepend=False, with_kwargs=False, always_call=False):
                self.after = hook if with_kwargs else None

        module, seen = Module(), []
        torch_compat.around_forward(module, lambda *enter: seen.append(enter), lambda *leave: seen.append(leave))
        module.before(module, ("x",), {"mask": "y"})
        module.after(module, ("x",), {"mask": "y"}, "z")
        inputs = (("x",), {"mask": "y"})
        self.assertEqual(seen, [(module, inputs), (module, inputs, "z")])

    # As since 2.1: optimizers and clip_grad_norm_ update lists where the device is among these.
    def test_lists_are_updated_as_on_a_gpu(self):
        import torch
        from uvmsim import torch_compat
        patches = torch_compat._Patches()
        self.addCleanup(patches.put_back)
        utils = types.SimpleNamespace(_get_foreach_kernels_supported_devices=lambda: ["cuda", "xpu"])
        patches.replace(torch.utils, "_foreach_utils", utils)
        with torch_compat.as_on_gpu():
            self.assertEqual(utils._get_foreach_kernels_supported_devices(), ["cuda", "xpu", "meta"])
        self.assertEqual(utils._get_foreach_kernels_supported_devices(), ["cuda", "xpu"])

    # As since 2.4: autocast's state is by device, and the functions of one device warn.
    def test_autocast_is_asked_by_device(self):
        import torch
        from uvmsim import torch_compat
        on = {"cuda": True, "cpu": False}
        patches = torch_compat._Patches()
        self.addCleanup(patches.put_back)
        patches.replace(torch, "is_autocast_enabled", lambda device: on[device])
        patches.replace(torch, "set_autocast_enabled", on.__setitem__)
        patches.replace(torch, "get_autocast_dtype", {"cuda": torch.float16, "cpu": torch.bfloat16}.get)
        self.assertEqual(torch_compat._autocast_type(), torch.float16)
        with torch_compat._without_autocast():
            self.assertIsNone(torch_compat._autocast_type())
        self.assertEqual(on, {"cuda": True, "cpu": False})

    # As since 2.1: _scaled_dot_product_efficient_attention(Tensor query, Tensor key, Tensor value, Tensor? attn_bias,
    # bool compute_log_sumexp, float dropout_p=0.0, bool is_causal=False, *, float? scale=None) -> (Tensor output, ...),
    # and _scaled_dot_product_flash_attention(Tensor query, Tensor key, Tensor value, float dropout_p=0.0,
    # bool is_causal=False, bool return_debug_mask=False, *, float? scale=None).
    def test_attention_is_one_kernel(self):
        import torch
        from uvmsim import torch_compat

        def efficient(query, key, value, attn_bias, compute_log_sumexp, dropout_p=0.0, is_causal=False, *, scale=None):
            return (("efficient", None if attn_bias is None else tuple(attn_bias.shape), compute_log_sumexp),)

        def flash(query, key, value, dropout_p=0.0, is_causal=False, return_debug_mask=False, *, scale=None):
            return (("flash", is_causal, scale),)

        patches = torch_compat._Patches()
        self.addCleanup(patches.put_back)
        aten, functional = torch.ops.aten, torch.nn.functional
        patches.replace(aten, "_scaled_dot_product_efficient_attention", efficient)
        patches.replace(aten, "_scaled_dot_product_flash_attention", flash)
        patches.replace(functional, "scaled_dot_product_attention", lambda *args, **kwargs: "scores")
        patches.replace(torch_compat, "version", lambda: (2, 1))
        torch_compat._use_fused_attention(patches)
        attend = functional.scaled_dot_product_attention
        x = torch.empty(2, 4, 16, 8, device="meta")
        weights = torch.empty(2, 4, 16, 8, device="meta", requires_grad=True)
        mask = torch.ones(2, 1, 1, 16, dtype=torch.bool, device="meta")
        self.assertEqual(attend(x, x, x), ("efficient", None, False))
        self.assertEqual(attend(weights, x, x, attn_mask=mask), ("efficient", (2, 4, 16, 16), True))
        self.assertEqual(attend(x.half(), x.half(), x.half(), is_causal=True, scale=0.5), ("flash", True, 0.5))
        self.assertEqual(attend(x, x[:, :2], x[:, :2], enable_gqa=True), "scores")
        self.assertEqual(attend(torch.empty(x.shape), x, x), "scores")
        patches.replace(torch_compat, "version", lambda: (2, 0))
        self.assertEqual(attend(x, x, x), "scores")

    # As since 2.1: _detect_is_causal_mask(mask: Optional[Tensor], is_causal: Optional[bool] = None,
    # size: Optional[int] = None) -> bool.
    def test_masks_are_not_looked_at(self):
        import torch
        from uvmsim import torch_compat
        patches, transformer = torch_compat._Patches(), torch.nn.modules.transformer
        self.addCleanup(patches.put_back)
        patches.replace(transformer, "_detect_is_causal_mask", lambda *args: self.fail("looks"))
        with torch_compat.as_on_gpu() as notes:
            detect = transformer._detect_is_causal_mask
            self.assertFalse(detect(None))
            self.assertFalse(detect(torch.empty(4, 4), False))
            self.assertFalse(detect(torch.empty(4, 6), None, 4))
            self.assertFalse(notes)
            self.assertTrue(detect(torch.empty(4, 4), None, 4))
            self.assertEqual(notes, {"square masks of nn.Transformer: taken to be causal"})

    # As since 2.0, torch.compile(model), and since 2.2, model.compile().
    def test_compile_is_left_out_and_said(self):
        import torch
        from uvmsim import torch_compat
        patches, model = torch_compat._Patches(), torch.nn.Linear(4, 4)
        self.addCleanup(patches.put_back)
        patches.replace(torch, "compile", lambda *args, **kwargs: self.fail("compiles"))
        patches.replace(torch.nn.Module, "compile", lambda *args, **kwargs: self.fail("compiles"))
        with torch_compat.as_on_gpu() as notes:
            self.assertIs(torch.compile(model, mode="max-autotune"), model)
            self.assertEqual(torch.compile(dynamic=True)(len), len)
            self.assertIsNone(model.compile())
        self.assertEqual([note.split(":")[0] for note in notes], ["torch.compile"])

    def test_meta_is_asked_as_cuda(self):
        import torch
        from uvmsim import torch_compat
        checkpoint, asked = torch.utils.checkpoint, []
        before = vars(checkpoint).get("_infer_device_type"), torch.is_autocast_enabled
        self.addCleanup(setattr, torch, "is_autocast_enabled", before[1])
        checkpoint._infer_device_type = lambda *tensors: tensors[0].device.type  # as since 2.1
        torch.is_autocast_enabled = lambda *devices: asked.append(devices)  # takes a device since 2.4
        try:
            with torch_compat.as_on_gpu():
                self.assertEqual(checkpoint._infer_device_type(torch.empty(1, device="meta")), "cuda")
                torch.is_autocast_enabled("meta")
            self.assertIn(("cuda",), asked)
        finally:
            if before[0] is None:
                del checkpoint._infer_device_type
            else:
                checkpoint._infer_device_type = before[0]


if __name__ == "__main__":
    unittest.main()
