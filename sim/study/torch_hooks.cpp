#include "study/torch_hooks.h"

#include <algorithm>
#include <map>
#include <set>
#include <string>
#include <unordered_map>
#include <vector>

#include "base/user_error.h"
#include "plan/tensor_lives.h"

namespace uvmsim {
namespace {

constexpr const char* kHead =
    R"(# Needs PyTorch 2.0 and an allocator over cudaMallocManaged (torch.cuda.memory.CUDAPluggableAllocator).
import ctypes
import weakref

import torch

)";

constexpr const char* kBody = R"(
_cuda = ctypes.CDLL("libcuda.so.1")


def prefetch(tensor):
    """cudaMemPrefetchAsync of what holds the tensor, on the current stream of its GPU."""
    if not isinstance(tensor, torch.Tensor) or not tensor.is_cuda:
        return
    storage = tensor.untyped_storage()
    stream = torch.cuda.current_stream(tensor.device).cuda_stream
    _cuda.cuMemPrefetchAsync(ctypes.c_uint64(storage.data_ptr()), ctypes.c_size_t(storage.nbytes()),
                             ctypes.c_int(tensor.device.index), ctypes.c_void_p(stream))


def _prefetch_all(tensors):
    for tensor in tensors:
        prefetch(tensor)


class _Hooks:
    def __init__(self, name):
        self.forward, self.backward = FORWARD.get(name, ()), BACKWARD.get(name, ())
        self.inputs = []

    def before_forward(self, module, inputs):
        if "inputs" in self.backward:
            self.inputs = [weakref.ref(x) for x in inputs if isinstance(x, torch.Tensor)]
        if "inputs" in self.forward:
            _prefetch_all(inputs)
        if "parameters" in self.forward:
            _prefetch_all(module.parameters(recurse=False))

    def before_backward(self, module, grad_outputs):
        if "grad_outputs" in self.backward:
            _prefetch_all(grad_outputs)
        if "inputs" in self.backward:
            _prefetch_all(x() for x in self.inputs)
        if "parameters" in self.backward:
            _prefetch_all(module.parameters(recurse=False))


def install(model):
    """Puts the hooks in and returns their handles. KeyError names the modules that the model does not have."""
    modules = dict(model.named_modules())
    missing = sorted((FORWARD.keys() | BACKWARD.keys()) - modules.keys())
    if missing:
        raise KeyError("no such modules: " + ", ".join(missing))
    handles = []
    for name in sorted(FORWARD.keys() | BACKWARD.keys()):
        hooks = _Hooks(name)
        handles.append(modules[name].register_forward_pre_hook(hooks.before_forward))
        if name in BACKWARD:
            handles.append(modules[name].register_full_backward_pre_hook(hooks.before_backward))
    return handles
)";

std::string quoted(const std::string& text) {
  std::string out = "\"";
  for (const char c : text) {
    if (c == '"' || c == '\\') out += '\\';
    out += c;
  }
  return out + "\"";
}

using Prefetches = std::map<std::string, std::set<std::string>>;  // what, by the module's name

void write(const char* name, const Prefetches& of, std::ostream& out) {
  out << name << " = {\n";
  for (const auto& [module, what] : of) {
    out << "    " << quoted(module) << ": (";
    for (const std::string& tensors : what) out << quoted(tensors) << ",";
    out << "),\n";
  }
  out << "}\n";
}

// One walk over a trace.
class Collection {
 public:
  explicit Collection(const trace::Trace& trace) : trace_(trace), lives_(trace, "managed") {
    for (const trace::Record& record : trace.records) std::visit([this](const auto& r) { take(r); }, record);
  }

  const Prefetches& forward() const { return forward_; }
  const Prefetches& backward() const { return backward_; }
  int without_module() const { return without_module_; }
  int only_written() const { return only_written_; }

 private:
  void take(const trace::Iteration&) { layer_.clear(); }
  void take(const trace::Layer& l) { layer_ = trace_.strings[static_cast<std::size_t>(l.name)]; }
  void take(const trace::Phase& p) { phase_ = trace_.strings[static_cast<std::size_t>(p.name)]; }
  void take(const trace::Prefetch& p) {
    if (p.destination >= 0) ahead_.push_back(p.tensor);
  }
  void take(const trace::Kernel& kernel) {
    for (const KernelOperand& operand : operands_of(trace_, lives_, kernel))
      if (std::ranges::find(ahead_, operand.tensor) != ahead_.end()) add(operand);
    ahead_.clear();
  }
  void take(const auto&) {}

  void add(const KernelOperand& operand) {
    const bool backward = phase_ == "backward";
    if (layer_.empty() || (!backward && phase_ != "forward")) {
      ++without_module_;
    } else if (!operand.read) {
      ++only_written_;
    } else {
      (backward ? backward_ : forward_)[layer_].insert(what_is(operand.tensor));
    }
  }

  std::string what_is(trace::TensorId tensor) const {
    const std::string& kind = trace_.header.kinds.at(lives_.of(tensor).alloc.kind);
    if (kind == "param") return "parameters";
    return kind == "grad" ? "grad_outputs" : "inputs";
  }

  const trace::Trace& trace_;
  TensorLives lives_;
  std::string layer_, phase_;
  std::vector<trace::TensorId> ahead_;  // prefetched since the last kernel
  Prefetches forward_, backward_;
  int without_module_ = 0, only_written_ = 0;
};

}  // namespace

void write_torch_hooks(const trace::Trace& trace, std::ostream& out) {
  const Collection collection(trace);
  if (collection.forward().empty() && collection.backward().empty())
    throw UserError(trace.header.name,
                    "no prefetch stands before a kernel that reads it in the forward or backward pass of a layer");
  std::string name = trace.header.name;
  std::ranges::replace(name, '\n', ' ');
  out << "# Prefetches before modules of " << name << ": install(model) puts them in.\n"
      << "# Left out: " << collection.only_written() << " of what a kernel only writes, " << collection.without_module()
      << " before kernels of no module.\n"
      << kHead;
  write("FORWARD", collection.forward(), out);
  write("BACKWARD", collection.backward(), out);
  out << kBody;
}

}  // namespace uvmsim
