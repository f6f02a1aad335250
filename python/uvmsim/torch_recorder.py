"""Records which tensors each operator of a PyTorch step reads and writes, and how long they live: on meta tensors,
without a GPU, weights or data.

What is made by a call without tensors (randn, zeros, ...) and is small or deterministic stays on the CPU with its
values, so that scripts may compute with it; an operator that meets a meta tensor gets a meta twin of it, as if it had
been copied to the GPU then. Everything else is on meta.
"""
import functools
import gc
import json
import weakref

import torch
from torch.multiprocessing.reductions import StorageWeakRef
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils._pytree import tree_flatten, tree_map

from uvmcap_torch import _range, _tensors, operands
from uvmsim import torch_compat
from uvmsim.errors import ScriptError

VERSION = 1
# Elements up to which a tensor without random values is made with its values.
_KEPT_ELEMENTS = 4096
_RANDOM = ("rand", "randn", "randint", "randperm", "normal", "bernoulli")
_HIDDEN = ("profiler", "prim")
# Arguments that the cost of an operator depends on.
_ARGUMENTS = ("groups", "transposed", "output_mask", "kernel_size")
_TYPES = {torch.float32: "f32", torch.float16: "f16", torch.bfloat16: "bf16", torch.float64: "f64",
          torch.int64: "i64", torch.int32: "i32", torch.uint8: "u8", torch.int8: "i8", torch.bool: "bool"}
_TYPES_BY_SIZE = {1: "u8", 2: "f16", 4: "i32"}  # of others; 8 bytes and more count as f64


_NEED_VALUES = ("_local_scalar_dense", "item", "equal", "is_nonzero", "nonzero", "unique", "_unique2",
                "unique_consecutive", "bincount")


class Unsupported(ScriptError):
    """An operator that cannot run without values, or that has no shapes on meta tensors."""


class _Operator:
    """What is known of an overload before it is called."""

    def __init__(self, func):
        schema = func._schema
        self.namespace, self.name = schema.name.split("::")
        self.arguments = [(i, a.name) for i, a in enumerate(schema.arguments) if a.name in _ARGUMENTS]
        self.has_device = any(a.name == "device" for a in schema.arguments)
        self.random = self.name.startswith(_RANDOM)

    def scalars(self, args, kwargs):
        found = {}
        for i, name in self.arguments:
            value = args[i] if i < len(args) else kwargs.get(name)
            if value is not None:
                found[name] = list(value) if isinstance(value, (list, tuple)) else value
        return found


def _type_of(tensor):
    return _TYPES.get(tensor.dtype) or _TYPES_BY_SIZE.get(tensor.element_size(), "f64")


def _is_meta(tensor):
    return tensor.device.type == "meta"


def _has_memory(tensor):
    return _is_meta(tensor) and tensor.layout == torch.strided and tensor.numel() > 0


class Recorder(TorchDispatchMode):
    """Use it as a context around the whole script; `record` runs the steps."""

    def __init__(self):
        super().__init__()
        self.events = []
        self.samples = 0
        self.recording = False
        self._operators, self._twins = {}, {}
        self._live = {}  # storage -> [weak reference, id, tensors seen of it that are alive]
        self._seen = {}  # id of a tensor -> weak reference
        self._silent = set()  # storages of which no tensor that was seen is alive
        self._kinds = {}
        self._next_tensor = 1
        self._phase, self._layer, self._layers = "", "", []
        self._undo, self._notes = [], set()
        self._last_hook = 0

    # Events.

    def _event(self, kind, **members):
        self.events.append({"k": kind, **members})

    def _note(self, text):
        if text not in self._notes:
            self._notes.add(text)
            self._event("note", text=text)

    def _set_phase(self, name):
        if name != self._phase:
            self._phase = name
            self._event("phase", n=name)

    def _set_layer(self, name):
        if name != self._layer:
            self._layer = name
            self._event("layer", n=name)

    # Tensors and their lives.

    def _tensor(self, tensor, is_new):
        """Id of a tensor's storage, which is written at its first sight."""
        storage = torch_compat.storage_of(tensor)
        key = storage._cdata
        known = self._live.get(key)
        if known is None:
            known = self._live[key] = [StorageWeakRef(storage), self._next_tensor, 0]
            self._next_tensor += 1
            self._event("tensor", id=known[1], bytes=storage.nbytes(), old=not is_new)
            self._kinds[known[1]] = self._kind_of_new() if is_new else "input"
        name = id(tensor)
        if name not in self._seen:
            self._seen[name] = weakref.ref(tensor, lambda _, name=name, key=key: self._died(name, key))
            known[2] += 1
            self._silent.discard(key)
        return known[1]

    def _kind_of_new(self):
        if self._layers or self._phase == "forward":
            return "act"
        return {"backward": "grad", "optimizer": "ws"}.get(self._phase, "input")

    def _died(self, name, key):
        self._seen.pop(name, None)
        known = self._live.get(key)
        if known is not None:
            known[2] -= 1
            if known[2] == 0:
                self._silent.add(key)

    def _sweep(self):
        """Autograd may keep a storage without any tensor that was seen, so the storages themselves are asked."""
        gone = [key for key in self._silent if self._live[key][0].expired()]
        for number, key in sorted((self._live[key][1], key) for key in gone):
            self._silent.discard(key)
            del self._live[key]
            if self.recording:
                self._event("gone", id=number)

    def _name(self, tensor, kind):
        if tensor is not None and _has_memory(tensor):
            self._kinds[self._tensor(tensor, is_new=False)] = kind

    def _know(self, tensors, is_new):
        for tensor in tensors:
            if _has_memory(tensor):
                self._tensor(tensor, is_new)

    def _operand(self, tensor, is_new=False):
        offset, length = _range(tensor)
        strides = tensor.stride()
        operand = [self._tensor(tensor, is_new), offset, length, _type_of(tensor), list(tensor.shape)]
        if tensor.dim() >= 2 and strides[-1] != 1 and strides[-2] == 1:
            operand.append(1)  # transposed
        return operand

    def _operands(self, tensors, is_new=False):
        result = []
        for tensor in tensors:
            if _has_memory(tensor):
                operand = self._operand(tensor, is_new)
                if operand not in result:
                    result.append(operand)
        return result

    # Operators.

    def _twin(self, tensor):
        """What stands on meta for a tensor of the CPU: a copy of it, made when it is first needed there."""
        known = self._twins.get(id(tensor))
        if known is None:
            twin = torch_compat.on_meta(tensor)
            name = id(tensor)
            known = self._twins[name] = (weakref.ref(tensor, lambda _: self._twins.pop(name, None)), twin)
            if self.recording:
                self._upload(twin)
        return known[1]

    def _upload(self, tensor):
        if _has_memory(tensor):
            operand = self._operand(tensor, is_new=True)
            self._kinds[operand[0]] = "input"
            self._event("upload", w=[operand])

    def _make(self, func, operator, args, kwargs):
        """A call without tensors: on the CPU where its values may be wanted, else on meta."""
        device = kwargs.get("device")
        elsewhere = device is not None and torch.device(device).type != "cpu"
        if operator.has_device:
            shape = [leaf for leaf in tree_flatten(args)[0] if isinstance(leaf, int) and not isinstance(leaf, bool)]
            elements = 1
            for extent in shape:
                elements *= max(extent, 1)
            few = 1 if operator.random else _KEPT_ELEMENTS
            if elsewhere or elements > few:
                kwargs = {**kwargs, "device": torch.device("meta"), "pin_memory": None}
        result = func(*args, **kwargs)
        if self.recording and operator.name not in ("empty", "empty_strided"):
            for tensor in _tensors(result):
                if self._phase in ("", "forward") and not self._layers:
                    self._upload(tensor)
                elif _has_memory(tensor):
                    self._event("op", n=operator.name, r=[], w=[self._operand(tensor, is_new=True)])
        elif self.recording:
            self._know(_tensors(result), is_new=True)
        return result

    def __torch_dispatch__(self, func, types, args=(), kwargs=None):
        kwargs = kwargs or {}
        if not hasattr(func, "_schema"):
            raise Unsupported(f"{func} is no operator but calls some: trace the model without torch.compile")
        operator = self._operators.get(func)
        if operator is None:
            operator = self._operators[func] = _Operator(func)
        if operator.namespace in _HIDDEN:
            return func(*args, **kwargs)
        if self.recording:
            self._sweep()
        tensors = _tensors((args, kwargs))
        if not tensors:
            return self._make(func, operator, args, kwargs)
        moved = kwargs.get("device") is not None and kwargs["device"].type != "cpu"
        if not moved and not any(_is_meta(tensor) for tensor in tensors):
            return func(*args, **kwargs)
        if operator.name in _NEED_VALUES:
            raise Unsupported(f"{func} needs values, and there are none without data; leave .item(), float(), print, "
                              "`if` and sizes that depend on values out of the step")
        if not all(_is_meta(tensor) for tensor in tensors):
            args, kwargs = tree_map(self._on_meta, args), tree_map(self._on_meta, kwargs)
            tensors = _tensors((args, kwargs))
        if operator.has_device and kwargs.get("device") is not None:
            kwargs = {**kwargs, "device": torch.device("meta")}
        if self.recording:
            self._know(tensors, is_new=False)
            if operator.name == "masked_select":
                self._note("masked_select: taken to select everything")
        result = self._call(func, args, kwargs)
        if self.recording:
            self._record(func, operator, args, kwargs, result)
        return result

    def _on_meta(self, value):
        if isinstance(value, torch.Tensor) and not _is_meta(value) and value.dim() > 0:
            return self._twin(value)
        return value

    def _call(self, func, args, kwargs):
        try:
            return torch_compat.call(func, args, kwargs)
        except torch_compat.NO_SHAPES as error:
            raise Unsupported(torch_compat.without_shapes(func)) from error

    def _record(self, func, operator, args, kwargs, result):
        reads, writes = operands(func, args, kwargs, result)
        # What was given to the operator is known by now: what is not, it made.
        self._know(_tensors(result), is_new=True)
        read, written = self._operands(reads), self._operands(writes)
        if written and not operator.name.startswith("empty") and operator.name != "new_empty":
            members = {"a": operator.scalars(args, kwargs)} if operator.arguments else {}
            self._event("op", n=operator.name, r=read, w=written, **members)

    # Modules, backward and the optimizer.

    def _enter(self, name):
        def hook(module, inputs):
            if not self._layers and self.recording and self._phase != "backward":
                self._set_phase("forward")
                for tensor in _tensors(inputs):
                    self.samples = self.samples or (tensor.shape[0] if tensor.dim() else 0)
                    self._name(tensor, "input")
            self._layers.append(name)
            if self.recording:
                self._set_layer(name)
        return hook

    def _leave(self, name):
        def hook(module, inputs, output):
            if self.recording:
                self._label_backward(name, inputs, output)
            if self._layers:
                self._layers.pop()
            if self.recording:
                self._set_layer(self._layers[-1] if self._layers else "")
        return hook

    def _label_backward(self, name, inputs, output):
        """The nodes of backward that a module's forward made, up to its inputs, belong to its layer."""
        todo = [t.grad_fn for t in _tensors(output) if t.grad_fn is not None]
        for tensor in _tensors(inputs):
            if tensor.grad_fn is not None:
                tensor.grad_fn.metadata.setdefault("uvmsim_before", set()).add(name)
        while todo:
            node = todo.pop()
            if "uvmsim" in node.metadata or name in node.metadata.get("uvmsim_before", ()):
                continue
            node.metadata["uvmsim"] = name
            if not torch_compat.prehook(node, lambda name=name: self._set_layer(name)):
                node.register_hook(lambda *gradients, name=name: self._label_past(name))
            todo += [following for following, _ in node.next_functions if following is not None]

    def _label_past(self, name):
        """What was recorded since the node before this one ended is this node's."""
        if self._layers:
            return
        if name != self._layer and len(self.events) > self._last_hook:
            self.events.insert(self._last_hook, {"k": "layer", "n": name})
            self._layer = name
        self._last_hook = len(self.events)

    def _replace(self, owner, attribute, wrapper):
        had = attribute in vars(owner)
        original = getattr(owner, attribute)
        setattr(owner, attribute, wrapper(original))
        self._undo.append(lambda: setattr(owner, attribute, original) if had else delattr(owner, attribute))

    def _in_phase(self, name, after):
        def wrapper(original):
            @functools.wraps(original)
            def call(*args, **kwargs):
                if not self.recording:
                    return original(*args, **kwargs)
                outer = self._phase
                self._set_phase(name)
                self._last_hook = len(self.events)
                fused = name == "optimizer" and torch_compat.is_fused(self._optimizer)
                self.recording = not fused
                result = original(*args, **kwargs)
                self.recording = True
                after()
                if fused:
                    self._fused_step()
                if outer != name:
                    self._set_layer("")
                    self._set_phase("other")
                return result
            return call
        return wrapper

    def _name_gradients(self):
        for parameter in self._parameters:
            self._name(parameter.grad, "wgrad")

    def _name_state(self):
        for state in self._optimizer.state.values() if self._optimizer is not None else ():
            for tensor in _tensors(list(state.values())):
                self._name(tensor, "opt")

    def _fused_step(self):
        parameters = [p for group in self._optimizer.param_groups for p in group["params"] if p.grad is not None]
        state = [t for p in parameters for t in _tensors(list(self._optimizer.state[p].values()))]
        updated = self._operands(parameters + state)
        self._event("op", n="_fused_" + type(self._optimizer).__name__.lower(),
                    r=updated + self._operands([p.grad for p in parameters]), w=updated)

    def record(self, step, model, optimizer, iterations):
        """Runs `step` so often; `write` says what it did."""
        self._start(model, optimizer)
        try:
            for _ in range(iterations):
                self._begin_iteration()
                step()
        finally:
            self._stop()

    def _start(self, model, optimizer):
        """Begins to record: what is alive is known, and nothing else happened yet."""
        if model is not None and any(hasattr(module, "_orig_mod") for module in model.modules()):
            raise ScriptError("torch.compile hides the operators: trace the model without it")
        gc.collect()
        self._optimizer = optimizer
        groups = optimizer.param_groups if optimizer is not None else ()
        self._parameters = list(model.parameters()) if model is not None else []
        known = {id(parameter) for parameter in self._parameters}
        self._parameters += [p for group in groups for p in group["params"] if id(p) not in known]
        for parameter in self._parameters:
            self._name(parameter, "param")
        for buffer in model.buffers() if model is not None else ():
            self._name(buffer, "param")
        self._name_gradients()
        self._name_state()
        self._replace(torch.autograd, "backward", self._in_phase("backward", self._name_gradients))
        self._replace(torch.autograd, "grad", self._in_phase("backward", lambda: None))
        if optimizer is not None:
            self._replace(optimizer, "step", self._in_phase("optimizer", self._name_state))
        for name, module in model.named_modules() if model is not None else ():
            label = name or type(module).__name__
            for handle in torch_compat.around_forward(module, self._enter(label), self._leave(label)):
                self._undo.append(handle.remove)
        self.recording = True

    def _begin_iteration(self):
        self._sweep()
        self._event("iteration")
        self._phase, self._layer, self._layers = "", "", []

    def _stop(self):
        self._sweep()
        self.recording = False
        while self._undo:
            self._undo.pop()()

    def note(self, texts):
        for text in sorted(texts):
            self._note(text)

    def write(self, file, name):
        """One JSON object a line: a header, then the events in their order."""
        def line(value):
            file.write(json.dumps(value, separators=(",", ":")) + "\n")

        line({"k": "header", "uvmsim_torch": VERSION, "torch": str(torch.__version__), "name": name,
              "samples": self.samples})
        for event in self.events:
            if event["k"] == "tensor":
                event = {**event, "is": self._kinds[event["id"]]}
            line(event)
        line({"k": "end"})
