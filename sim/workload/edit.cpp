#include "workload/edit.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <unordered_map>

#include "base/user_error.h"
#include "workload/retarget.h"

namespace uvmsim {
namespace {

std::int64_t scaled(std::int64_t ns, double factor) {
  return static_cast<std::int64_t>(std::min(std::round(static_cast<double>(ns) * factor), 1e15));
}

// The tensors that each record frees, for those who ask whether one lives.
class Frees {
 public:
  explicit Frees(const trace::Trace& trace) {
    for (std::size_t i = 0; i < trace.records.size(); ++i)
      if (const auto* free = std::get_if<trace::Free>(&trace.records[i])) at_[free->tensor].push_back(i);
  }
  // Whether the tensor, alive at `from`, is freed before `to`.
  bool between(trace::TensorId tensor, std::size_t from, std::size_t to) const {
    const auto found = at_.find(tensor);
    if (found == at_.end()) return false;
    const auto next = std::ranges::upper_bound(found->second, from);
    return next != found->second.end() && *next < to;
  }

 private:
  std::unordered_map<trace::TensorId, std::vector<std::size_t>> at_;  // looked up, never walked
};

// Adds `next`, which is made after all of `operands`, or widens the one of the same range.
void merge(trace::Access next, std::vector<trace::Access>& operands) {
  for (trace::Access& operand : operands) {
    trace::Access same = next;
    same.mode = operand.mode;
    if (same != operand) continue;
    if (operand.mode == trace::Mode::Read && next.mode != trace::Mode::Read) operand.mode = trace::Mode::ReadWrite;
    return;
  }
  operands.push_back(next);
}

// By record: of a kernel's operands, times their passes; 0 of others.
std::vector<std::int64_t> operand_bytes(const trace::Trace& trace) {
  std::unordered_map<trace::TensorId, std::int64_t> live;
  std::vector<std::int64_t> bytes(trace.records.size());
  for (std::size_t i = 0; i < trace.records.size(); ++i) {
    if (const auto* alloc = std::get_if<trace::Alloc>(&trace.records[i])) live[alloc->tensor] = alloc->bytes;
    const auto* kernel = std::get_if<trace::Kernel>(&trace.records[i]);
    if (kernel == nullptr) continue;
    for (std::uint32_t a = kernel->accesses.first; a < kernel->accesses.first + kernel->accesses.count; ++a) {
      const trace::Access& access = trace.accesses[a];
      bytes[i] += access.passes * (access.length >= 0 ? access.length : live[access.tensor] - access.offset);
    }
  }
  return bytes;
}

}  // namespace

std::vector<KernelPlace> select(const trace::Trace& trace, const KernelFilter& filter) {
  std::map<trace::StringIndex, dnn::KernelClass> classes;
  std::vector<KernelPlace> found;
  KernelPlace place;
  for (std::size_t i = 0; i < trace.records.size(); ++i) {
    const trace::Record& record = trace.records[i];
    if (std::holds_alternative<trace::Iteration>(record)) {
      ++place.iteration;
      place.phase = place.layer = {};
    }
    if (const auto* phase = std::get_if<trace::Phase>(&record))
      place.phase = trace.strings[static_cast<std::size_t>(phase->name)];
    if (const auto* layer = std::get_if<trace::Layer>(&record))
      place.layer = trace.strings[static_cast<std::size_t>(layer->name)];
    const auto* kernel = std::get_if<trace::Kernel>(&record);
    if (kernel == nullptr) continue;
    place.record = i;
    place.name = trace.strings[static_cast<std::size_t>(kernel->name)];
    const auto [known, fresh] = classes.try_emplace(kernel->name);
    if (fresh) known->second = kernel_of(place.name).kernel_class;
    place.kernel_class = known->second;
    if (filter(place)) found.push_back(place);
  }
  return found;
}

double roofline_time(const trace::Header& header, std::int64_t bytes, double flops) {
  const trace::DeviceInfo device = header.devices.empty() ? trace::DeviceInfo{} : header.devices.front();
  if (device.fp32_flops <= 0 || device.bandwidth <= 0) return static_cast<double>(bytes);
  return std::max(static_cast<double>(bytes) / device.bandwidth, flops / device.fp32_flops);
}

void scale_by_roofline(const trace::Trace& before, trace::Trace& trace) {
  const std::vector<std::int64_t> old_bytes = operand_bytes(before), bytes = operand_bytes(trace);
  for (std::size_t i = 0; i < trace.records.size(); ++i) {
    const auto* kernel = std::get_if<trace::Kernel>(&trace.records[i]);
    if (kernel == nullptr) continue;
    const double old_time =
        roofline_time(before.header, old_bytes[i], std::get<trace::Kernel>(before.records[i]).flops);
    if (old_time > 0) scale(trace, i, roofline_time(before.header, bytes[i], kernel->flops) / old_time);
  }
}

void scale(trace::Trace& trace, std::size_t record, double factor) {
  auto& kernel = std::get<trace::Kernel>(trace.records[record]);
  kernel.duration_ns = scaled(kernel.duration_ns, factor);
  if (kernel.variants < 0) return;
  trace::LaunchVariants variants = trace.variants[static_cast<std::size_t>(kernel.variants)];
  for (trace::LaunchVariant& variant : variants) variant.duration_ns = scaled(variant.duration_ns, factor);
  kernel.variants = static_cast<std::int32_t>(trace.variants.size());
  trace.variants.push_back(std::move(variants));
}

void remove(trace::Trace& trace, std::vector<std::size_t> records) {
  std::ranges::sort(records);
  auto gone = records.begin();
  std::size_t kept = 0;
  for (std::size_t i = 0; i < trace.records.size(); ++i) {
    if (gone != records.end() && *gone == i) {
      ++gone;
      continue;
    }
    if (kept != i) trace.records[kept] = trace.records[i];
    ++kept;
  }
  trace.records.resize(kept);
}

void insert(trace::Trace& trace, std::vector<std::pair<std::size_t, trace::Record>> records) {
  std::ranges::stable_sort(records, {}, &std::pair<std::size_t, trace::Record>::first);
  std::vector<trace::Record> all;
  all.reserve(trace.records.size() + records.size());
  auto next = records.begin();
  for (std::size_t i = 0; i <= trace.records.size(); ++i) {
    for (; next != records.end() && next->first == i; ++next) all.push_back(next->second);
    if (i < trace.records.size()) all.push_back(trace.records[i]);
  }
  trace.records = std::move(all);
}

std::vector<std::size_t> move(trace::Trace& trace, std::vector<std::pair<std::size_t, std::size_t>> records) {
  std::ranges::stable_sort(records, {}, &std::pair<std::size_t, std::size_t>::second);
  std::vector<bool> moves(trace.records.size());
  for (const auto& [record, before] : records) moves[record] = true;
  std::vector<std::size_t> places(trace.records.size());
  std::vector<trace::Record> all;
  all.reserve(trace.records.size());
  const auto put = [&](std::size_t record) {
    places[record] = all.size();
    all.push_back(trace.records[record]);
  };
  auto next = records.begin();
  for (std::size_t i = 0; i <= trace.records.size(); ++i) {
    for (; next != records.end() && next->second == i; ++next) put(next->first);
    if (i < trace.records.size() && !moves[i]) put(i);
  }
  trace.records = std::move(all);
  return places;
}

void fuse(trace::Trace& trace, const std::vector<std::vector<std::size_t>>& groups,
          const std::vector<std::int64_t>& duration_ns) {
  const Frees frees(trace);
  std::vector<std::size_t> gone;
  for (std::size_t g = 0; g < groups.size(); ++g) {
    const std::vector<std::size_t>& group = groups[g];
    std::vector<trace::Access> operands;
    double flops = 0;
    for (const std::size_t record : group) {
      const auto& kernel = std::get<trace::Kernel>(trace.records[record]);
      flops += kernel.flops;
      for (std::uint32_t i = kernel.accesses.first; i < kernel.accesses.first + kernel.accesses.count; ++i)
        if (!frees.between(trace.accesses[i].tensor, record, group.back())) merge(trace.accesses[i], operands);
    }
    auto& fused = std::get<trace::Kernel>(trace.records[group.back()]);
    fused.accesses = {static_cast<std::uint32_t>(trace.accesses.size()), static_cast<std::uint32_t>(operands.size())};
    fused.duration_ns = duration_ns[g];
    fused.flops = flops;
    fused.variants = -1;
    trace.accesses.insert(trace.accesses.end(), operands.begin(), operands.end());
    gone.insert(gone.end(), group.begin(), group.end() - 1);
  }
  remove(trace, std::move(gone));
}

bool KernelSelection::takes(const KernelPlace& place) const {
  const auto has = [](std::string_view text, const std::string& part) {
    return part.empty() || text.find(part) != std::string_view::npos;
  };
  return has(place.name, kernel) && has(place.layer, layer) && (phase.empty() || place.phase == phase);
}

void KernelSelection::require(const std::string& name) const {
  if (kernel.empty() && layer.empty() && phase.empty())
    throw UserError(name, name + " needs to know which: give a part of a kernel's or layer's name, or a phase");
}

const Description& KernelSelection::description() {
  static const Description d =
      Describe<KernelSelection>("kernels by their names")
          .text("kernel", &KernelSelection::kernel, "a part of the kernel's name; \"\": any")
          .text("layer", &KernelSelection::layer, "a part of the name of its layer; \"\": any")
          .text("phase", &KernelSelection::phase, "the phase that it is in, such as backward; \"\": any")
          .build();
  return d;
}

void note_transform(trace::Trace& trace, const std::string& what) {
  std::string& durations = trace.header.durations;
  durations += (durations.empty() ? "" : "; ") + what;
  if (trace.header.durations_status == "measured") trace.header.durations_status = "scaled";
}

}  // namespace uvmsim
