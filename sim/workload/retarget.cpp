#include "workload/retarget.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <map>
#include <string>
#include <unordered_map>
#include <vector>

#include "base/lower_case.h"

namespace uvmsim {
namespace {

using dnn::KernelClass;

struct Hint {
  std::string_view part;
  KernelClass kernel_class;
};

// The first that a name contains holds: special ones stand before those they contain.
constexpr std::array kHints = {Hint{"wgrad", KernelClass::WeightGradient},
                               Hint{"bgrad", KernelClass::Reduction},
                               Hint{"weight_backward", KernelClass::WeightGradient},
                               Hint{"dgrad", KernelClass::DataGradient},
                               Hint{"flash", KernelClass::Attention},
                               Hint{"fmha", KernelClass::Attention},
                               Hint{"attention", KernelClass::Attention},
                               Hint{"softmax", KernelClass::Softmax},
                               Hint{"batch_norm", KernelClass::BatchNorm},
                               Hint{"batchnorm", KernelClass::BatchNorm},
                               Hint{"bn_fw", KernelClass::BatchNorm},
                               Hint{"bn_bw", KernelClass::BatchNorm},
                               Hint{"layer_norm", KernelClass::BatchNorm},
                               Hint{"layernorm", KernelClass::BatchNorm},
                               Hint{"lstm", KernelClass::Recurrent},
                               Hint{"gru", KernelClass::Recurrent},
                               Hint{"rnn", KernelClass::Recurrent},
                               Hint{"winograd", KernelClass::Conv},
                               Hint{"fprop", KernelClass::Conv},
                               Hint{"conv", KernelClass::Conv},
                               Hint{"implicit", KernelClass::Conv},
                               Hint{"gemm", KernelClass::Gemm},
                               Hint{"bmm", KernelClass::Gemm},
                               Hint{"gemv", KernelClass::Reduction},
                               Hint{"cutlass", KernelClass::Gemm},
                               Hint{"ampere_", KernelClass::Gemm},
                               Hint{"adam", KernelClass::Optimizer},
                               Hint{"sgd", KernelClass::Optimizer},
                               Hint{"multi_tensor_apply", KernelClass::Optimizer},
                               Hint{"embedding", KernelClass::Gather},
                               Hint{"gather", KernelClass::Gather},
                               Hint{"scatter", KernelClass::Gather},
                               Hint{"index", KernelClass::Gather},
                               Hint{"fill", KernelClass::Fill},
                               Hint{"memset", KernelClass::Fill},
                               Hint{"reduce", KernelClass::Reduction},
                               Hint{"catarray", KernelClass::Copy},
                               Hint{"copy", KernelClass::Copy},
                               Hint{"transpose", KernelClass::Copy},
                               Hint{"elementwise", KernelClass::Pointwise},
                               Hint{"pointwise", KernelClass::Pointwise}};

// Marks of kernels on tensor cores: their instructions' shapes and CUTLASS's and cuDNN's words.
constexpr std::array<std::string_view, 8> kTensorMarks = {"884",  "1688", "16816", "tensorop",
                                                          "hmma", "xmma", "wgmma", "16n32k16"};

class Retarget {
 public:
  Retarget(trace::Trace& trace, const dnn::RooflineDevice& from, const dnn::RooflineDevice& to)
      : trace_(trace), from_(from), to_(to) {}

  void run() {
    for (const std::string& name : trace_.strings) kernels_.push_back(kernel_of(name));
    for (trace::Record& record : trace_.records) {
      if (const auto* alloc = std::get_if<trace::Alloc>(&record)) bytes_[alloc->tensor] = alloc->bytes;
      if (auto* kernel = std::get_if<trace::Kernel>(&record)) scale(*kernel);
    }
    describe();
  }

 private:
  std::int64_t touched(const trace::Kernel& kernel) const {
    double sum = 0;
    for (std::uint32_t i = kernel.accesses.first; i < kernel.accesses.first + kernel.accesses.count; ++i) {
      const trace::Access& access = trace_.accesses[i];
      const std::int64_t length = access.length >= 0 ? access.length : bytes_.at(access.tensor) - access.offset;
      sum += static_cast<double>(length) * access.passes * (access.mode == trace::Mode::ReadWrite ? 2 : 1);
    }
    return static_cast<std::int64_t>(std::min(sum, 1e17));
  }

  void scale(trace::Kernel& kernel) {
    const NamedKernel& named = kernels_[static_cast<std::size_t>(kernel.name)];
    const bool arithmetic = multiplies_matrices(named.kernel_class);
    if (!named.known) ++unnamed_;
    dnn::KernelWork work{.kernel_class = named.kernel_class,
                         .flops = kernel.flops,
                         .bytes = touched(kernel),
                         .tensor_cores = named.tensor_cores};
    if (kernel.flops == 0 && arithmetic) {
      // So much arithmetic that it binds on both: only the ratio of the peaks is left.
      ++without_arithmetic_;
      work.flops = 1e18;
    } else if (work.bytes == 0 && kernel.flops == 0) {
      work.bytes = std::int64_t{1} << 48;
    }
    const double ratio = dnn::roofline_seconds(to_, work) / dnn::roofline_seconds(from_, work);
    const auto scaled = [&](std::int64_t ns) {
      return static_cast<std::int64_t>(std::min(std::round(static_cast<double>(ns) * ratio), 1e15));
    };
    kernel.duration_ns = scaled(kernel.duration_ns);
    ++count_;
    if (kernel.variants < 0) return;
    const auto [found, is_new] =
        scaled_variants_.try_emplace({kernel.variants, ratio}, static_cast<std::int32_t>(trace_.variants.size()));
    if (is_new) {
      trace::LaunchVariants variants = trace_.variants[static_cast<std::size_t>(kernel.variants)];
      for (trace::LaunchVariant& variant : variants) variant.duration_ns = scaled(variant.duration_ns);
      trace_.variants.push_back(std::move(variants));
    }
    kernel.variants = found->second;
  }

  void describe() {
    trace::Header& header = trace_.header;
    header.durations += (header.durations.empty() ? "" : "; ") + ("scaled from " + from_.name + " to " + to_.name) +
                        " by the rooflines of each kernel's class";
    if (header.durations_status != "assumed" && header.durations_status != "fitted" && !header.durations_status.empty())
      header.durations_status = "scaled";
    if (!dnn::efficiencies_fitted(from_) || !dnn::efficiencies_fitted(to_))
      header.unknowns.push_back("the shares of the peaks that kernels reach on " +
                                (dnn::efficiencies_fitted(to_) ? from_ : to_).name + ": assumed to be Volta's");
    const auto add = [&](std::int64_t count, const char* what) {
      if (count > 0) header.unknowns.push_back(std::to_string(count) + " of " + std::to_string(count_) + " " + what);
    };
    add(unnamed_, "kernels: scaled as pointwise ones, for their names say nothing");
    add(without_arithmetic_, "kernels: their arithmetic is not known; scaled by the peak rate");
    if (header.devices.empty()) header.devices.emplace_back();
    for (trace::DeviceInfo& device : header.devices)
      device = {to_.name, to_.memory_bytes, to_.fp32_flops, to_.bandwidth};
  }

  trace::Trace& trace_;
  dnn::RooflineDevice from_, to_;
  std::vector<NamedKernel> kernels_;  // by string
  std::unordered_map<trace::TensorId, std::int64_t> bytes_;
  std::map<std::pair<std::int32_t, double>, std::int32_t> scaled_variants_;  // by launch variants and ratio
  std::int64_t count_ = 0, unnamed_ = 0, without_arithmetic_ = 0;
};

}  // namespace

bool multiplies_matrices(dnn::KernelClass kernel_class) {
  switch (kernel_class) {
    case KernelClass::Gemm:
    case KernelClass::Conv:
    case KernelClass::Conv3d:
    case KernelClass::DataGradient:
    case KernelClass::DataGradient3d:
    case KernelClass::WeightGradient:
    case KernelClass::WeightGradient3d:
    case KernelClass::Recurrent:
    case KernelClass::Attention:
      return true;
    default:
      return false;
  }
}

NamedKernel kernel_of(std::string_view name) {
  const std::string lower = lower_case(name);
  const auto contains = [&](std::string_view part) { return lower.find(part) != std::string::npos; };
  NamedKernel kernel;
  kernel.tensor_cores = std::ranges::any_of(kTensorMarks, contains);
  for (const Hint& hint : kHints) {
    if (!contains(hint.part)) continue;
    kernel.kernel_class = hint.kernel_class;
    kernel.known = true;
    break;
  }
  return kernel;
}

void retarget(trace::Trace& trace, const GpuSpec& from, const GpuSpec& to) {
  retarget(trace, dnn::roofline_device(from), dnn::roofline_device(to));
}

void retarget(trace::Trace& trace, const dnn::RooflineDevice& from, const dnn::RooflineDevice& to) {
  Retarget(trace, from, to).run();
}

}  // namespace uvmsim
