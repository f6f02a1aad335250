"""Records which tensors each operator of a PyTorch program reads and writes.

    import uvmcap_torch

    with uvmcap_torch.record("run.jsonl", model, optimizer) as recorder:
        for batch in batches:
            recorder.iteration()
            loss = model(batch).sum()
            loss.backward()
            optimizer.step()

The file is described in capture/FORMAT.md (uvmcap-torch). Under `uvmcap -o DIR -- python ...` the operators' ids are
handed to libuvmcap.so, so that its kernels name the operator that launched them. Works with PyTorch 1.13 or newer, with
or without a GPU. torch.compile hides the operators: such a model is refused. So do CUDA graphs: don't replay them.
"""
import contextlib
import ctypes
import json
import os
import platform
import sys
import threading
import time

import torch
from torch.multiprocessing.reductions import StorageWeakRef
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils._pytree import tree_flatten

# Operators that overwrite the tensor they change without reading it.
_OVERWRITE = {"zero_", "fill_", "copy_", "normal_", "uniform_", "random_", "bernoulli_", "exponential_", "geometric_",
              "log_normal_", "cauchy_", "set_", "resize_", "_foreach_zero_", "_foreach_copy_"}
# Older schemas do not say that these change the running statistics while training.
_BATCH_NORMS = {"native_batch_norm", "cudnn_batch_norm", "miopen_batch_norm"}
_HIDDEN_NAMESPACES = ("profiler", "prim")


def _storage(tensor):
    return tensor.untyped_storage() if hasattr(tensor, "untyped_storage") else tensor._storage()


def _range(tensor):
    """Offset and length in bytes of what a strided tensor covers of its storage."""
    item = tensor.element_size()
    last = sum((size - 1) * stride for size, stride in zip(tensor.shape, tensor.stride()))
    return tensor.storage_offset() * item, (last + 1) * item


def _has_storage(tensor):
    return tensor.layout == torch.strided and tensor.numel() > 0


def _has_memory(tensor):
    return _has_storage(tensor) and tensor.device.type != "meta"


def _tensors(value):
    """The tensors of an argument or result, in their order; arguments of most operators have no more structure.

    A sparse tensor in coordinate form is its indices and its values."""
    if isinstance(value, torch.Tensor):
        return [value._indices(), value._values()] if value.layout == torch.sparse_coo else [value]
    if isinstance(value, (list, tuple)):
        return [tensor for each in value for tensor in _tensors(each)]
    if isinstance(value, dict):
        return [leaf for part in tree_flatten(value)[0] if isinstance(part, torch.Tensor) for leaf in _tensors(part)]
    return []


def operands(func, args, kwargs, result):
    """The tensors that one call of an operator reads and writes, as two lists: the schema says what is changed."""
    name = func._schema.name.split("::")[-1]
    makes_new = name.startswith(("new_", "empty")) or name.endswith("_like")
    training_norm = name in _BATCH_NORMS
    reads, writes, inputs = [], [], []
    for i, argument in enumerate(func._schema.arguments):
        value = args[i] if i < len(args) else kwargs.get(argument.name)
        tensors = _tensors(value)
        if not tensors:
            continue
        inputs += tensors
        alias = argument.alias_info
        if alias is not None and alias.is_write:
            writes += tensors
            if not argument.is_out and name not in _OVERWRITE:
                reads += tensors
        elif alias is None and not makes_new:
            reads += tensors
            if training_norm and argument.name in ("running_mean", "running_var") and _is_training(func, args, kwargs):
                writes += tensors
    if "empty" not in name:
        # A view by another name shares its input's storage.
        shared = {_storage(t)._cdata for t in inputs if _has_storage(t)}
        schemas = func._schema.returns
        # One result may be a list of tensors.
        for value, schema in zip(result if len(schemas) > 1 else (result,), schemas):
            if schema.alias_info is None:
                writes += [t for t in _tensors(value) if not _has_storage(t) or _storage(t)._cdata not in shared]
    return reads, writes


def _is_training(func, args, kwargs):
    for i, argument in enumerate(func._schema.arguments):
        if argument.name in ("training", "train"):
            return bool(args[i] if i < len(args) else kwargs.get(argument.name, False))
    return False


class _Injected:
    """libuvmcap.so in this process, if it is; else every call does nothing."""

    def __init__(self):
        self._library = None
        path = os.environ.get("CUDA_INJECTION64_PATH")
        if path and torch.cuda.is_available():
            torch.cuda.init()
            with contextlib.suppress(OSError, AttributeError):
                library = ctypes.CDLL(path)
                library.uvmcap_push.argtypes = [ctypes.c_uint64]
                library.uvmcap_mark.argtypes = [ctypes.c_char_p]
                self._library = library if library.uvmcap_active() else None

    def __bool__(self):
        return self._library is not None

    def push(self, number):
        if self._library:
            self._library.uvmcap_push(number)

    def pop(self):
        if self._library:
            self._library.uvmcap_pop()

    def mark(self, text):
        if self._library:
            self._library.uvmcap_mark(text.encode())


class Recorder(TorchDispatchMode):
    """What `record` gives. Use it as a context; `iteration`, `phase` and `layer` say where the program is."""

    def __init__(self, path, module=None, optimizer=None):
        super().__init__()
        if module is not None and any(hasattr(m, "_orig_mod") for m in module.modules()):
            raise RuntimeError("uvmcap_torch: torch.compile hides the operators; record the model without it")
        self._path, self._module, self._optimizer = path, module, optimizer
        self._lock = threading.RLock()
        self._strings, self._shapes, self._threads = {}, {}, {}
        self._live = {}  # storage -> (weak reference, id); the reference keeps the key from being used again
        self._kinds = {}
        self._next_tensor, self._ops, self._iterations = 1, 0, 0
        self._layers, self._layer, self._phase = [], "", ""
        self._undo = []
        self._noted = set()

    # The file.

    def _write(self, kind, **members):
        self._file.write(json.dumps({"k": kind, **members}, separators=(",", ":")) + "\n")

    def _string(self, text):
        if text not in self._strings:
            self._strings[text] = len(self._strings)
            self._write("str", i=self._strings[text], s=text)
        return self._strings[text]

    def _shape(self, tensor):
        shape = tensor.element_size(), tuple(tensor.shape), tensor.stride()
        if shape not in self._shapes:
            self._shapes[shape] = len(self._shapes)
            item, sizes, strides = shape
            self._write("shape", i=self._shapes[shape], item=item, size=sizes, stride=strides)
        return self._shapes[shape]

    def _note(self, text):
        if text not in self._noted:
            self._noted.add(text)
            self._write("note", text=text)

    # Where the program is.

    def iteration(self):
        """Begins an iteration."""
        with self._lock:
            self._write("iteration", i=self._iterations, t=time.time_ns())
            self._injected.mark(f"iteration {self._iterations}")
            self._iterations += 1

    @contextlib.contextmanager
    def phase(self, name):
        """What runs inside belongs to a phase: forward, backward, optimizer, other."""
        outer = self._phase
        self._set_phase(name)
        try:
            yield
        finally:
            self._set_phase(outer)

    def _set_phase(self, name):
        with self._lock:
            if name != self._phase:
                self._phase = name
                self._write("phase", n=self._string(name or "other"))

    def layer(self, name):
        """What follows belongs to a layer; "" for none. Modules do it by themselves."""
        with self._lock:
            if name != self._layer:
                self._layer = name
                self._write("layer", n=self._string(name))

    # Tensors.

    def _tensor(self, tensor, is_new):
        """Id of a tensor's storage; its first sight is written."""
        storage = _storage(tensor)
        key = storage._cdata
        known = self._live.get(key)
        if known is not None:
            return known[1]
        number = self._next_tensor
        self._next_tensor += 1
        self._live[key] = (StorageWeakRef(storage), number)
        device = tensor.device
        members = {} if is_new else {"old": 1}
        place = (device.index or 0) if device.type == "cuda" else "cpu"
        self._write("tensor", id=number, bytes=storage.nbytes(), dev=place, a=storage.data_ptr(), t=time.time_ns(),
                    **members)
        if is_new and self._phase == "forward":
            self._set_kind(number, "activation")
        return number

    def _set_kind(self, number, kind):
        if self._kinds.get(number) != kind:
            self._kinds[number] = kind
            self._write("kind", id=number, **{"is": kind})

    def _name_tensor(self, tensor, kind):
        if tensor is not None and _has_memory(tensor):
            self._set_kind(self._tensor(tensor, is_new=False), kind)

    def _sweep(self):
        gone = [key for key, (reference, _) in self._live.items() if reference.expired()]
        for key in gone:
            number = self._live.pop(key)[1]
            self._kinds.pop(number, None)
            self._write("gone", id=number, t=time.time_ns())

    def _see(self, tensors, is_new):
        for tensor in tensors:
            if _has_memory(tensor):
                self._tensor(tensor, is_new)
            elif tensor.numel() > 0:
                self._note(f"tensors of layout {tensor.layout} on {tensor.device.type} are not followed")

    def _accesses(self, tensors):
        """Ranges of storages, each once, and the shapes of the tensors that have them."""
        seen = {}
        for tensor in tensors:
            if _has_memory(tensor):
                seen.setdefault((self._tensor(tensor, is_new=True), *_range(tensor)), self._shape(tensor))
        return list(seen), list(seen.values())

    def __torch_dispatch__(self, func, types, args=(), kwargs=None):
        kwargs = kwargs or {}
        if not hasattr(func, "_schema"):  # a higher-order operator
            with self._lock:
                self._note(f"{func} is not followed")
            return func(*args, **kwargs)
        if func._schema.name.split("::")[0] in _HIDDEN_NAMESPACES:
            return func(*args, **kwargs)
        with self._lock:
            self._sweep()
            # An operator that touches nothing has an id and no line.
            self._ops += 1
            number = self._ops
            # What an operator is given was there before it, also if it changes it in place.
            self._see(_tensors((args, kwargs)), is_new=False)
        self._injected.push(number)
        begin = time.time_ns()
        try:
            result = func(*args, **kwargs)
        finally:
            end = time.time_ns()
            self._injected.pop()
        with self._lock:
            reads, writes = operands(func, args, kwargs, result)
            self._see(_tensors(result), is_new=True)  # also what `empty` makes, which nobody wrote
            (read, read_shapes), (written, written_shapes) = self._accesses(reads), self._accesses(writes)
            if read or written:
                thread = self._threads.setdefault(threading.get_ident(), len(self._threads))
                self._write("op", id=number, n=self._string(str(func)), t=begin, e=end, th=thread, r=read, w=written,
                            s=read_shapes + written_shapes)
        return result

    # Modules, backward and the optimizer.

    def _enter_layer(self, name):
        def hook(module, inputs):
            with self._lock:
                if not self._layers:
                    self._set_phase("forward")
                    for tensor in _tensors(inputs):
                        self._name_tensor(tensor, "input")
            self._layers.append(name)
            self.layer(name)
        return hook

    def _leave_layer(self, name):
        def hook(module, inputs, output):
            self._label_backward(name, inputs, output)
            if self._layers:
                self._layers.pop()
            self.layer(self._layers[-1] if self._layers else "")
            if not self._layers and self._phase == "forward":
                self._set_phase("")
        return hook

    def _label_backward(self, name, inputs, output):
        """The nodes of backward that a module's forward made, up to its inputs, set its name when they run."""
        todo = [t.grad_fn for t in _tensors(output) if t.grad_fn is not None]
        if not todo or not hasattr(todo[0], "register_prehook"):
            return
        for tensor in _tensors(inputs):
            if tensor.grad_fn is not None:
                tensor.grad_fn.metadata.setdefault("uvmcap_before", set()).add(name)
        while todo:
            node = todo.pop()
            if "uvmcap" in node.metadata or name in node.metadata.get("uvmcap_before", ()):
                continue
            node.metadata["uvmcap"] = name
            node.register_prehook(lambda gradients, name=name: self.layer(name))
            todo += [following for following, _ in node.next_functions if following is not None]

    def _replace(self, owner, attribute, wrapper):
        had = attribute in vars(owner)
        original = getattr(owner, attribute)
        setattr(owner, attribute, wrapper(original))
        self._undo.append(lambda: setattr(owner, attribute, original) if had else delattr(owner, attribute))

    def _in_phase(self, name, after):
        def wrapper(original):
            def call(*args, **kwargs):
                with self.phase(name):
                    result = original(*args, **kwargs)
                self.layer("")
                with self._lock:
                    after()
                return result
            return call
        return wrapper

    def _name_gradients(self):
        for parameter in self._module.parameters() if self._module is not None else ():
            self._name_tensor(parameter.grad, "gradient")

    def _name_optimizer_state(self):
        for state in self._optimizer.state.values():
            for tensor in _tensors(list(state.values())):
                self._name_tensor(tensor, "optimizer")

    def _attach(self):
        self._replace(torch.autograd, "backward", self._in_phase("backward", self._name_gradients))
        self._replace(torch.autograd, "grad", self._in_phase("backward", lambda: None))
        if self._optimizer is not None:
            self._replace(self._optimizer, "step", self._in_phase("optimizer", self._name_optimizer_state))
            self._name_optimizer_state()
        if self._module is None:
            return
        for parameter in self._module.parameters():
            self._name_tensor(parameter, "parameter")
        for buffer in self._module.buffers():
            self._name_tensor(buffer, "buffer")
        self._name_gradients()
        for name, module in self._module.named_modules():
            label = name or type(module).__name__
            for handle in (module.register_forward_pre_hook(self._enter_layer(label)),
                           module.register_forward_hook(self._leave_layer(label))):
                self._undo.append(handle.remove)

    # The caching allocator.

    def _start_history(self):
        if torch.cuda.is_available():
            try:
                torch.cuda.memory._record_memory_history(enabled="all", context=None, max_entries=1 << 22)
                self._write_live_blocks()
                return True
            except (AttributeError, TypeError):
                self._note("this PyTorch keeps no history of its allocator: no block lines")
        return False

    def _write_live_blocks(self):
        """What is taken already: by tensors, which get lines of their own, and by libraries such as cuBLAS."""
        now = time.time_ns()
        for segment in torch.cuda.memory._snapshot()["segments"]:
            address = segment["address"]
            for block in segment["blocks"]:
                if block["state"] == "active_allocated":
                    self._write("block", do="alloc", a=block.get("address", address), bytes=block["size"],
                                st=segment.get("stream", 0), t=now, dev=segment["device"])
                address += block["size"]

    def _write_history(self):
        for device, events in enumerate(torch.cuda.memory._snapshot()["device_traces"]):
            for event in events:
                self._write("block", do=event["action"], a=event.get("addr", 0), bytes=event["size"],
                            st=event.get("stream", 0), t=1000 * event.get("time_us", 0), dev=device)
        torch.cuda.memory._record_memory_history(enabled=None)

    def __enter__(self):
        self._file = open(self._path, "w", encoding="utf-8", buffering=1 << 16)
        self._injected = _Injected()
        gpus = range(torch.cuda.device_count()) if torch.cuda.is_available() else ()
        properties = [torch.cuda.get_device_properties(i) for i in gpus]
        devices = [{"dev": i, "name": p.name, "mem": p.total_memory} for i, p in enumerate(properties)]
        self._write("header", uvmcap_torch=1, torch=str(torch.__version__), python=platform.python_version(),
                    pid=os.getpid(), device=devices, t=time.time_ns(), injected=int(bool(self._injected)))
        self._history = self._start_history()
        self._attach()
        return super().__enter__()

    def __exit__(self, kind, error, trace):
        super().__exit__(kind, error, trace)
        while self._undo:
            self._undo.pop()()
        with self._lock:
            self._sweep()
            if self._history:
                torch.cuda.synchronize()
                self._write_history()
            if error is not None:
                self._note(f"the recorded program failed: {kind.__name__}: {error}")
            self._write("end", t=time.time_ns(), ops=self._ops)
            self._file.close()


def record(path, module=None, optimizer=None):
    """Records into the file at `path`: a context. `module` names layers and parameters, `optimizer` phase and state."""
    return Recorder(path, module, optimizer)


if __name__ == "__main__":
    sys.exit(__doc__)
