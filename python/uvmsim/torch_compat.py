"""What differs between versions of PyTorch, and between meta tensors and a GPU's.

`as_on_gpu()` is a context in which a program that was written for a GPU runs on meta tensors: devices named "cuda" are
"meta", modules keep their parameters and buffers there, automatic mixed precision casts as on a GPU, and operators that
PyTorch picks by the device (dropout, optimizers over lists of tensors) are those of a GPU. PyTorch 1.13 or newer.
"""
import contextlib
import functools
import inspect
import types

import torch
import torch.utils.checkpoint
from torch._subclasses import fake_tensor
from torch.utils._pytree import tree_map

# torch/amp: what CUDA's autocast runs in the lower precision, and what in fp32 ("Autocast Op Reference").
_LOWER = ("conv1d conv2d conv3d conv_transpose1d conv_transpose2d conv_transpose3d conv_tbc convolution linear matmul "
          "__matmul__ __rmatmul__ mm mv bmm addmm addmv addbmm addr baddbmm chain_matmul einsum prelu lstm lstm_cell "
          "gru gru_cell rnn_tanh_cell rnn_relu_cell scaled_dot_product_attention").split()
_FULL = ("acos asin cosh erfinv exp expm1 log log10 log2 log1p reciprocal rsqrt sinh tan pow __pow__ __rpow__ softplus "
         "layer_norm group_norm norm nuclear_norm cosine_similarity poisson_nll_loss cosine_embedding_loss nll_loss "
         "nll_loss2d hinge_embedding_loss kl_div l1_loss smooth_l1_loss huber_loss mse_loss margin_ranking_loss "
         "multilabel_margin_loss soft_margin_loss triplet_margin_loss multi_margin_loss cross_entropy "
         "binary_cross_entropy_with_logits dist pdist cdist renorm logsumexp prod softmax log_softmax softmin cumprod "
         "cumsum sum normalize").split()


def version():
    """(major, minor) of the PyTorch that runs."""
    return tuple(int(part) for part in torch.__version__.split(".")[:2])


def storage_of(tensor):
    return tensor.untyped_storage() if hasattr(tensor, "untyped_storage") else tensor._storage()


def around_forward(module, enter, leave):
    """Calls `enter(module, inputs)` and `leave(module, inputs, output)` around a module's forward. Returns the handles.

    Inputs by name are among them since 2.0; before it, hooks are not told these.
    """
    try:
        return (module.register_forward_pre_hook(lambda m, args, kwargs: enter(m, (args, kwargs)), with_kwargs=True),
                module.register_forward_hook(lambda m, args, kwargs, output: leave(m, (args, kwargs), output),
                                             with_kwargs=True))
    except TypeError:
        return module.register_forward_pre_hook(enter), module.register_forward_hook(leave)


def prehook(node, hook):
    """Calls `hook()` before `node` of autograd runs; False where PyTorch has no such hook (before 2.0)."""
    if not hasattr(node, "register_prehook"):
        return False
    node.register_prehook(lambda gradients: hook())
    return True


def _autocast_type():
    """What CUDA's autocast, or the CPU's where a script asked for that, casts to now; None: it is off."""
    if hasattr(torch, "get_autocast_dtype"):  # since 2.4, where the functions below warn
        return next((torch.get_autocast_dtype(device) for device in ("cuda", "cpu")
                     if torch.is_autocast_enabled(device)), None)
    if torch.is_autocast_enabled():
        return torch.get_autocast_gpu_dtype()
    return torch.get_autocast_cpu_dtype() if torch.is_autocast_cpu_enabled() else None


@contextlib.contextmanager
def _without_autocast():
    if hasattr(torch, "get_autocast_dtype"):
        flags = [(functools.partial(torch.is_autocast_enabled, device),
                  functools.partial(torch.set_autocast_enabled, device)) for device in ("cuda", "cpu")]
    else:
        flags = [(torch.is_autocast_enabled, torch.set_autocast_enabled),
                 (torch.is_autocast_cpu_enabled, torch.set_autocast_cpu_enabled)]
    before = [get() for get, _ in flags]
    try:
        for _, put in flags:
            put(False)
        yield
    finally:
        for (_, put), value in zip(flags, before):
            put(value)


class _Patches:
    """Attributes that were replaced, to be put back."""

    def __init__(self):
        self._undo = []

    def replace(self, owner, name, value):
        had = name in vars(owner)
        old = vars(owner).get(name)
        setattr(owner, name, value)
        self._undo.append(lambda: setattr(owner, name, old) if had else delattr(owner, name))

    def put_back(self):
        while self._undo:
            self._undo.pop()()


def _is_cuda(device):
    return isinstance(device, (str, torch.device)) and str(device).startswith("cuda")


def _to_meta(value):
    if isinstance(value, bool) or not (isinstance(value, int) or _is_cuda(value)):
        return value
    return torch.device("meta")


def on_meta(tensor):
    """A tensor like this one, on meta, without history."""
    return torch.empty_strided(tensor.shape, tensor.stride(), dtype=tensor.dtype, device="meta")


def is_fused(optimizer):
    return getattr(optimizer, "uvmsim_fused", False)


def _move_modules(patches):
    """Parameters and buffers are on meta from the moment that a module has them."""
    new = torch.nn.Parameter.__new__

    def new_parameter(cls, data=None, requires_grad=True):
        if isinstance(data, torch.Tensor) and data.device.type != "meta":
            data = on_meta(data)
        return new(cls, data, requires_grad)

    register = torch.nn.Module.register_buffer

    def register_buffer(self, name, tensor, *args, **kwargs):
        # torch.optim.swa_utils.AveragedModel looks at its count of updates.
        if isinstance(tensor, torch.Tensor) and tensor.device.type != "meta" and name != "n_averaged":
            tensor = on_meta(tensor)
        return register(self, name, tensor, *args, **kwargs)

    patches.replace(torch.nn.Parameter, "__new__", staticmethod(new_parameter))
    patches.replace(torch.nn.Module, "register_buffer", register_buffer)


def _move_tensors(patches):
    to = torch.Tensor.to

    def moved(self, *args, **kwargs):
        if args and not isinstance(args[0], torch.Tensor):
            args = (_to_meta(args[0]), *args[1:])
        if "device" in kwargs:
            kwargs["device"] = _to_meta(kwargs["device"])
        return to(self, *args, **kwargs)

    patches.replace(torch.Tensor, "to", moved)
    patches.replace(torch.Tensor, "cuda", lambda self, *args, **kwargs: to(self, "meta"))
    patches.replace(torch.cuda, "_lazy_init", lambda: None)
    for name in ("synchronize", "empty_cache", "set_device", "manual_seed", "manual_seed_all",
                 "reset_peak_memory_stats"):
        patches.replace(torch.cuda, name, lambda *args, **kwargs: None)
    for name in ("memory_allocated", "max_memory_allocated", "memory_reserved", "max_memory_reserved"):
        patches.replace(torch.cuda, name, lambda *args, **kwargs: 0)


def _use_gpu_operators(patches):
    """Dropout by one kernel with a mask of a byte, as on CUDA; elsewhere PyTorch keeps the noise as floats."""
    def dropout(input, p=0.5, train=True):
        return torch.native_dropout(input, p, train)[0] if train and 0 < p < 1 else plain(input, p, train)

    plain = torch.dropout
    patches.replace(torch, "dropout", dropout)
    patches.replace(torch._VF, "dropout", dropout)
    if hasattr(torch.nn.functional, "scaled_dot_product_attention"):
        _use_fused_attention(patches)


def _bias(mask, query, key):
    """What a mask adds to the scores: as a view of all of them. None: nothing."""
    if mask is None:
        return None
    if mask.dtype == torch.bool:
        mask = torch.zeros_like(mask, dtype=query.dtype).masked_fill(mask.logical_not(), float("-inf"))
    return mask.expand(query.shape[0], query.shape[1], query.shape[2], key.shape[2])


def _use_fused_attention(patches):
    """Since 2.0: one kernel, where a GPU has one for these operands; elsewhere PyTorch makes the scores."""
    plain = torch.nn.functional.scaled_dot_product_attention

    def attention(query, key, value, attn_mask=None, dropout_p=0.0, is_causal=False, **more):
        half = query.dtype in (torch.float16, torch.bfloat16)
        scale = {"scale": more["scale"]} if more.get("scale") is not None else {}  # 2.0 knows none
        fits = query.device.type == "meta" and query.dim() == 4 and query.shape[1] == key.shape[1]
        if not fits or more.get("enable_gqa"):
            return plain(query, key, value, attn_mask, dropout_p, is_causal, **more)
        if half and query.shape[-1] <= 256 and attn_mask is None:
            flash = torch.ops.aten._scaled_dot_product_flash_attention
            return flash(query, key, value, dropout_p, is_causal, **scale)[0]
        if version() < (2, 1):  # whose memory-efficient kernel takes no mask
            return plain(query, key, value, attn_mask, dropout_p, is_causal, **more)
        efficient = torch.ops.aten._scaled_dot_product_efficient_attention
        keeps = torch.is_grad_enabled() and any(tensor.requires_grad for tensor in (query, key, value))
        return efficient(query, key, value, _bias(attn_mask, query, key), keeps, dropout_p, is_causal, **scale)[0]

    patches.replace(torch.nn.functional, "scaled_dot_product_attention", attention)


def _with_meta(devices):
    return lambda: [*devices(), "meta"]


def _use_gpu_optimizers(patches):
    """Since 2.0 optimizers update lists of tensors at once by default, where these are on CUDA."""
    optimizer = torch.optim.Optimizer
    add = optimizer.add_param_group

    def add_param_group(self, group):
        add(self, group)
        last = self.param_groups[-1]
        if version() == (2, 0) and last.get("foreach", False) is None and not last.get("fused"):
            last["foreach"] = True

    patches.replace(optimizer, "add_param_group", add_param_group)
    # Since 2.1 that is asked of the device, by optimizers and by clip_grad_norm_.
    name = "_get_foreach_kernels_supported_devices"
    for module in (getattr(torch.utils, "_foreach_utils", None), inspect.getmodule(optimizer)):
        if hasattr(module, name):
            patches.replace(module, name, _with_meta(getattr(module, name)))
    for name in ("Adam", "AdamW", "SGD", "Adagrad"):
        _allow_fused(patches, getattr(torch.optim, name))


def _allow_fused(patches, optimizer):
    """`fused=True` wants tensors on CUDA: the step runs as without it, and is recorded as one kernel."""
    init = optimizer.__init__

    def without(self, *args, **kwargs):
        # Since 2.6 AdamW is an Adam, whose __init__ is called without what this one took away.
        self.uvmsim_fused = bool(kwargs.get("fused")) or is_fused(self)
        if kwargs.get("fused"):
            kwargs["fused"] = False
        init(self, *args, **kwargs)

    patches.replace(optimizer, "__init__", without)


def _cast_as_on_gpu(patches):
    """autocast("cuda") without CUDA switches itself off, and meta tensors have no casts at all."""
    init = torch.autocast.__init__

    def enabled_init(self, device_type="cuda", dtype=None, enabled=True, cache_enabled=None):
        on_cpu = str(device_type).startswith("cpu")
        init(self, "cpu" if on_cpu else "cuda", torch.bfloat16 if on_cpu else dtype or torch.float16, False,
             cache_enabled)
        self._enabled = enabled

    patches.replace(torch.autocast, "__init__", enabled_init)
    patches.replace(torch.cuda, "is_bf16_supported", lambda *args, **kwargs: True)

    # Casts of parameters are kept until the outermost autocast ends.
    kept = {}
    leave = torch.autocast.__exit__

    def leave_and_forget(self, *args):
        result = leave(self, *args)
        if _autocast_type() is None:
            kept.clear()
        return result

    patches.replace(torch.autocast, "__exit__", leave_and_forget)

    def cast(value, to):
        if isinstance(value, torch.Tensor):
            if not value.is_floating_point() or value.dtype in (to, torch.float64):
                return value
            if to != torch.float32 and value.is_leaf and value.requires_grad:
                if id(value) not in kept:
                    kept[id(value)] = (value, value.to(to))
                return kept[id(value)][1]
            return value.to(to)
        if isinstance(value, (list, tuple)) and any(isinstance(each, torch.Tensor) for each in value):
            return type(value)(cast(each, to) for each in value)
        return value

    def casting(original, full):
        def call(*args, **kwargs):
            lower = _autocast_type()
            if lower is None:
                return original(*args, **kwargs)
            to = torch.float32 if full else lower
            args = [cast(value, to) for value in args]
            kwargs = {key: cast(value, to) for key, value in kwargs.items()}
            with _without_autocast():  # what the operator is made of is not cast again
                return original(*args, **kwargs)
        return call

    owners = [torch, torch.Tensor, torch.nn.functional, torch._VF, torch._C._nn]
    for names, full in ((_LOWER, False), (_FULL, True)):
        for name in names:
            for owner in owners:
                original = getattr(owner, name, None)
                if original is not None and (not isinstance(owner, types.ModuleType) or not name.startswith("_")):
                    patches.replace(owner, name, casting(original, full))


def _scale_gradients(patches):
    """GradScaler's kernels, without its look at values: no step is skipped.

    Its own code asserts CUDA tensors (before 2.2), switches itself off without CUDA, and asks `found_inf.item()`.
    """
    seen = set()
    for module in (torch.cuda.amp, getattr(torch, "amp", None)):  # the latter since 2.3, as the other one's base
        scaler = getattr(module, "GradScaler", None)
        if scaler is not None and scaler not in seen:
            seen.add(scaler)
            _replace_scaler(patches, scaler)


def _scales(scaler):
    return getattr(scaler, "uvmsim_scales", scaler._enabled)


def _scalars(scaler):
    """The scale, the steps since it grew, and whether a gradient was infinite, as the GPU has them."""
    if not hasattr(scaler, "uvmsim_scalars"):
        scaler.uvmsim_scalars = [torch.full((), value, dtype=dtype, device="meta")
                                 for value, dtype in ((65536.0, torch.float32), (0, torch.int32), (0.0, torch.float32))]
        scaler.uvmsim_unscaled = set()
    return scaler.uvmsim_scalars


def _replace_scaler(patches, kind):
    init = kind.__init__

    def disabled(self, *args, **kwargs):
        given = inspect.signature(init).bind(self, *args, **kwargs)
        enabled = given.arguments.get("enabled", True)
        given.arguments["enabled"] = False
        init(*given.args, **given.kwargs)
        self.uvmsim_scales = enabled  # after a base's __init__, which was told False

    def scale(self, outputs):
        if not _scales(self):
            return outputs
        return tree_map(lambda x: x * _scalars(self)[0] if isinstance(x, torch.Tensor) else x, outputs)

    def unscale(self, optimizer):
        if not _scales(self):
            return
        factor, _, found_inf = _scalars(self)
        gradients = {}
        for group in optimizer.param_groups:
            for parameter in group["params"]:
                if parameter.grad is not None:
                    gradients.setdefault(parameter.grad.dtype, []).append(parameter.grad)
        inverse = factor.double().reciprocal().float()
        with torch.no_grad():
            for of_one_type in gradients.values():
                torch._amp_foreach_non_finite_check_and_unscale_(of_one_type, found_inf, inverse)
        self.uvmsim_unscaled.add(id(optimizer))

    def step(self, optimizer, *args, **kwargs):
        # A fused optimizer unscales as it steps.
        if _scales(self) and not is_fused(optimizer) and id(optimizer) not in getattr(self, "uvmsim_unscaled", ()):
            self.unscale_(optimizer)
        return optimizer.step(*args, **kwargs)

    def update(self, new_scale=None):
        if _scales(self):
            torch._amp_update_scale_(*_scalars(self), 2.0, 0.5, 2000)
            self.uvmsim_unscaled.clear()

    patches.replace(kind, "__init__", disabled)
    for name, method in (("scale", scale), ("unscale_", unscale), ("step", step), ("update", update),
                         ("is_enabled", _scales)):
        patches.replace(kind, name, method)


def _name_devices(patches):
    """What PyTorch asks by a tensor's device is asked of CUDA: "meta" has neither a module nor an autocast.

    torch.utils.checkpoint of 2.1 to 2.4 fails there (pytorch/pytorch#133550), and so does torch.is_autocast_enabled.
    """
    checkpoint = torch.utils.checkpoint
    if hasattr(checkpoint, "_infer_device_type"):
        patches.replace(checkpoint, "_infer_device_type", lambda *tensors: "cuda")
    for name in ("is_autocast_enabled", "get_autocast_dtype"):
        if hasattr(torch, name):
            patches.replace(torch, name, _as_cuda(getattr(torch, name)))


def _leave_out(patches, notes):
    """What hides operators: torch.compile is left out, and fake tensors are the meta tensors that all are here."""
    compiled = "torch.compile: left out; what it fuses is recorded as the kernels of the eager operators"

    def as_it_is(model=None, **options):
        notes.add(compiled)
        return (lambda function: function) if model is None else model

    if hasattr(torch, "compile"):
        patches.replace(torch, "compile", as_it_is)
    if hasattr(torch.nn.Module, "compile"):  # since 2.2, in place
        patches.replace(torch.nn.Module, "compile", lambda self, *args, **options: notes.add(compiled))
    # Since 2.1 transformers look whether a mask is causal, to say so to attention.
    def is_causal_mask(mask, is_causal=None, size=None):
        if is_causal is not None or mask is None:
            return bool(is_causal)
        square = tuple(mask.shape) == (size or mask.shape[-2], size or mask.shape[-2])
        if square:
            notes.add("square masks of nn.Transformer: taken to be causal")
        return square

    if hasattr(torch.nn.modules.transformer, "_detect_is_causal_mask"):
        patches.replace(torch.nn.modules.transformer, "_detect_is_causal_mask", is_causal_mask)
    mode = fake_tensor.FakeTensorMode
    patches.replace(mode, "__enter__", lambda self: self)
    patches.replace(mode, "__exit__", lambda self, *raised: None)


def _as_cuda(ask):
    return lambda *devices: ask(*("cuda" if device == "meta" else device for device in devices))


@contextlib.contextmanager
def as_on_gpu():
    """Yields a set that gets a sentence for each thing that is left out."""
    patches, notes = _Patches(), set()
    try:
        _leave_out(patches, notes)
        for part in (_name_devices, _move_modules, _move_tensors, _use_gpu_operators, _use_gpu_optimizers,
                     _cast_as_on_gpu, _scale_gradients):
            part(patches)
        yield notes
    finally:
        patches.put_back()


@contextlib.contextmanager
def moved(model, optimizer):
    """A context in which the model's parameters and buffers, and the optimizer's state, are on meta."""
    twins, undo = {}, []

    def twin_of(tensor):
        if not isinstance(tensor, torch.Tensor) or tensor.device.type == "meta":
            return tensor
        if id(tensor) not in twins:
            twin = on_meta(tensor)
            if isinstance(tensor, torch.nn.Parameter):
                twin = torch.nn.Parameter(twin, tensor.requires_grad)
                twin.grad = None if tensor.grad is None else on_meta(tensor.grad)
            twins[id(tensor)] = twin
        return twins[id(tensor)]

    def state_of(value):
        scalar = isinstance(value, torch.Tensor) and value.dim() == 0
        return value.detach().clone() if scalar else twin_of(value)  # a count of steps, which the optimizer reads

    for module in model.modules() if model is not None else ():
        for tensors in (module._parameters, module._buffers):
            undo.append((tensors.update, dict(tensors)))
            tensors.update({name: twin_of(tensor) for name, tensor in tensors.items()})
    if optimizer is not None:
        for group in optimizer.param_groups:
            undo.append((group.update, {"params": group["params"]}))
            group["params"] = [twin_of(parameter) for parameter in group["params"]]
        undo.append((lambda state: setattr(optimizer, "state", state), optimizer.state))
        state = type(optimizer.state)(dict)
        for parameter, values in optimizer.state.items():
            state[twin_of(parameter)] = {name: state_of(value) for name, value in values.items()}
        optimizer.state = state
    try:
        yield
    finally:
        for put_back, value in undo:
            put_back(value)


# --- Shapes that some version's meta tensors do not know ------------------------------------------------------------


def _convolution_backward(grad_output, input, weight, bias_sizes, stride, padding, dilation, transposed, output_padding,
                          groups, output_mask):
    bias = grad_output.new_empty(bias_sizes or [grad_output.shape[1]]) if output_mask[2] else None
    return (torch.empty_like(input) if output_mask[0] else None, torch.empty_like(weight) if output_mask[1] else None,
            bias)




def _max_pool3d(x, kernel_size, stride=(), padding=0, dilation=1, ceil_mode=False):
    y = torch.ops.aten.avg_pool3d(x, kernel_size, stride, padding, ceil_mode)
    return y, torch.empty_like(y, dtype=torch.int64)


def _nll_loss2d(x, target, weight, reduction, ignore_index):
    return x.new_empty(target.shape if reduction == 0 else ()), x.new_empty(())


def _embedding_bag_backward(grad, indices, offset2bag, bag_size, maximum_indices, num_weights, *others):
    return grad.new_empty(num_weights, grad.shape[1])


def _ctc_loss(log_probs, targets, *others):
    """The losses, and the forward variables: of one dimension, the targets are taken to be as long as each other."""
    steps, samples = log_probs.shape[0], log_probs.shape[1] if log_probs.dim() == 3 else 1
    longest = targets.shape[1] if targets.dim() == 2 else -(-targets.numel() // samples)
    return log_probs.new_empty(samples), log_probs.new_empty(samples, steps, 2 * longest + 1)


def _add_sparse(dense, sparse, alpha=1):
    """Only a dense tensor stays as it is: a sparse one would get more rows."""
    if dense.layout != torch.strided:
        raise NotImplementedError
    return dense


_RULES = {"aten::_ctc_loss": _ctc_loss,
          "aten::_ctc_loss_backward": lambda grad, log_probs, *others: torch.empty_like(log_probs),
          "aten::_weight_norm_interface": lambda v, g, dim=0: (torch.empty_like(v), torch.empty_like(g)),
          "aten::_weight_norm_interface_backward": lambda grad, v, g, *others: (torch.empty_like(v),
                                                                                torch.empty_like(g)),
          "aten::convolution_backward": _convolution_backward,
          "aten::max_pool3d_with_indices": _max_pool3d,
          "aten::nll_loss2d_forward": _nll_loss2d,
          "aten::_embedding_bag_dense_backward": _embedding_bag_backward,
          "aten::add_": _add_sparse,
          # As if all were selected: what losses select leaves out padding.
          "aten::masked_select": lambda x, mask: x.new_empty(torch.broadcast_shapes(x.shape, mask.shape)).flatten(),
          "aten::native_dropout": lambda x, p, train: (torch.empty_like(x), torch.empty_like(x, dtype=torch.bool)),
          "aten::native_dropout_backward": lambda grad, mask, scale: torch.empty_like(grad),
          "aten::_amp_foreach_non_finite_check_and_unscale_": lambda gradients, found_inf, inverse: None,
          "aten::_amp_update_scale_": lambda scale, *others: scale}


# What an operator raises that has no shapes on meta; since 2.0 those whose shapes depend on values say so.
NO_SHAPES = (NotImplementedError, *(getattr(fake_tensor, name) for name in ("DynamicOutputShapeException",
                                                                            "DataDependentOutputException")
                                    if hasattr(fake_tensor, name)))


def without_shapes(operator):
    """What is said of an operator that cannot be recorded."""
    return (f"{operator} has no shapes on meta tensors in PyTorch {torch.__version__}; leave it out of the step, say "
            "it by other operators, or use a newer PyTorch")


_without_shapes = set()


def _of_lists(func, args):
    """An operator over lists of tensors: it updates the first one, or makes one like it."""
    if func._schema.name.endswith("_"):
        return None
    if "norm" in func._schema.name:
        return [tensor.new_empty(()) for tensor in args[0]]
    return [torch.empty_like(tensor) for tensor in args[0]]


def _gradient_of_input(func, args, kwargs):
    """A backward operator with one result makes the gradient of its argument `self` or `input`; None: it is no such."""
    schema = func._schema
    if not schema.name.endswith("_backward") or len(schema.returns) != 1:
        return None
    for i, argument in enumerate(schema.arguments):
        value = args[i] if i < len(args) else kwargs.get(argument.name)
        if argument.name in ("self", "input") and isinstance(value, torch.Tensor):
            return torch.empty_like(value)
    return None


def call(func, args, kwargs):
    """The operator on meta tensors; by a rule of our own where this PyTorch has no shapes for it."""
    rule = _RULES.get(func._schema.name)
    if func in _without_shapes:  # to find that out again takes milliseconds
        return rule(*args, **kwargs)
    try:
        return func(*args, **kwargs)
    except NO_SHAPES:
        if rule is not None:
            _without_shapes.add(func)
            return rule(*args, **kwargs)
        if func._schema.name.startswith("aten::_foreach_"):
            return _of_lists(func, args)
        result = _gradient_of_input(func, args, kwargs)
        if result is None:
            raise
        return result
