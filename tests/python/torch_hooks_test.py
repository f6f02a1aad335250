"""The hooks that `uvmsim trace torch-hooks` writes, on a model and a driver that only note what they are asked."""
import ctypes
import os
import subprocess
import sys
import tempfile
import types

UVMSIM = sys.argv[1]


class Tensor:
    is_cuda = True
    device = types.SimpleNamespace(index=0)

    def __init__(self, address):
        self.address = address

    def untyped_storage(self):
        return types.SimpleNamespace(data_ptr=lambda: self.address, nbytes=lambda: 64)


class Module:
    def __init__(self):
        self.weight, self.hooks = Tensor(1), []

    def parameters(self, recurse):
        return [self.weight]

    def register_forward_pre_hook(self, hook):
        self.before_forward = hook
        return "forward"

    def register_full_backward_pre_hook(self, hook):
        self.before_backward = hook
        return "backward"


class Model:
    def __init__(self):
        self.conv1 = Module()

    def named_modules(self):
        return [("", self), ("conv1", self.conv1)]


def hooks_of(folder):
    """A trace of AlexNet with the policy's calls as a plan, and the Python module made of them."""
    trace, plan, hooks = (os.path.join(folder, name) for name in ("t.uvmtrace", "plan.json", "hooks.py"))
    run = lambda *arguments: subprocess.run([UVMSIM, *arguments], check=True, stdout=subprocess.DEVNULL)
    run("trace", "gen", "alexnet", "--set", "batch=1", "--iterations", "2", "-o", trace)
    run("run", "v100_dgx1", "--set", "machine.gpus=1", "--set", "workload.generator=alexnet", "--set",
        "workload.batch=1", "--set", "workload.calibrate.in_core=", "--set", "workload.calls=operand_prefetch", "--set",
        "workload.call_options.operand_prefetch.kernels=convolution", "--plan-out", plan)
    run("trace", "torch-hooks", trace, "--plan", plan, "-o", hooks)
    with open(hooks) as file:
        return file.read()


def main():
    prefetched = []
    fake = types.ModuleType("torch")
    fake.Tensor = Tensor
    fake.cuda = types.SimpleNamespace(current_stream=lambda device: types.SimpleNamespace(cuda_stream=7))
    sys.modules["torch"] = fake
    driver = types.SimpleNamespace(
        cuMemPrefetchAsync=lambda address, size, device, stream: prefetched.append((address.value, size.value)))
    ctypes.CDLL = lambda name: driver

    with tempfile.TemporaryDirectory() as folder:
        source = hooks_of(folder)
    hooks = {}
    exec(compile(source, "hooks.py", "exec"), hooks)
    assert any("inputs" in what and "parameters" in what for what in hooks["FORWARD"].values()), hooks["FORWARD"]
    assert any("grad_outputs" in what for what in hooks["BACKWARD"].values()), hooks["BACKWARD"]

    hooks["FORWARD"].clear(), hooks["BACKWARD"].clear()
    hooks["FORWARD"]["conv1"] = ("inputs", "parameters")
    hooks["BACKWARD"]["conv1"] = ("grad_outputs", "inputs")
    model = Model()
    assert hooks["install"](model) == ["forward", "backward"]
    first = Tensor(2)
    model.conv1.before_forward(model.conv1, (first,))
    assert prefetched == [(2, 64), (1, 64)], prefetched
    model.conv1.before_backward(model.conv1, (Tensor(3),))
    assert prefetched[2:] == [(3, 64), (2, 64)], prefetched

    hooks["FORWARD"]["conv2"] = ("inputs",)
    try:
        hooks["install"](model)
    except KeyError as error:
        assert "conv2" in str(error)
    else:
        raise AssertionError("a module that is not there was accepted")


main()
