#include "plan/profile.h"

#include <algorithm>
#include <set>
#include <unordered_map>

#include "base/check.h"

namespace uvmsim {
namespace {

using trace::TensorId;

// Walks the records of one iteration.
class Profiler {
 public:
  Profiler(const trace::Trace& trace, int device, const ProfileSetting& setting, Profile& profile)
      : trace_(trace), device_(device), setting_(setting), profile_(profile) {}

  // `held`: in the order of their allocation.
  void run(const std::vector<trace::Alloc>& held, std::size_t begin, std::size_t end) {
    for (const trace::Alloc& a : held) add(a);
    profile_.shape.held = static_cast<std::int32_t>(held.size());
    window_ = live_;
    for (std::size_t i = begin; i < end; ++i)
      std::visit([this](const auto& record) { take(record); }, trace_.records[i]);
    finish();
  }

 private:
  std::int32_t kernels() const { return static_cast<std::int32_t>(profile_.kernels.size()); }

  void add(const trace::Alloc& a) {
    index_[a.tensor] = static_cast<std::int32_t>(profile_.tensors.size());
    const std::int64_t bytes = held_bytes(a.bytes);
    profile_.tensors.push_back({.bytes = bytes, .kind = a.kind, .first = kernels(), .uses = {}});
    asked_.push_back(a.bytes);
    overwrites_.emplace_back();
    live_ += bytes;
    window_ = std::max(window_, live_);
  }

  void take(const trace::Alloc& a) {
    if (!counts_in_plans(a, device_)) return;
    ++profile_.shape.made;
    add(a);
  }

  void take(const trace::Free& f) {
    const auto found = index_.find(f.tensor);
    if (found == index_.end()) return;
    ProfiledTensor& tensor = profile_.tensors[static_cast<std::size_t>(found->second)];
    tensor.freed = true;
    tensor.outer = kernels();
    live_ -= tensor.bytes;
    index_.erase(found);
  }

  void take(const trace::Kernel& k) {
    const Duration call = std::max(nanoseconds(trace_.header.host_op_ns), setting_.launch);
    host_ += call + nanoseconds(k.gap_ns);
    if (k.device != device_) return;
    const Duration duration = nanoseconds(k.duration_ns);
    const Time start = std::max(gpu_, host_);
    gpu_ = start + duration;
    const std::int32_t ordinal = kernels();
    profile_.kernels.push_back({.name = trace_.strings[static_cast<std::size_t>(k.name)],
                                .stream = k.stream,
                                .phase = static_cast<std::int32_t>(profile_.phases.size()) - 1,
                                .duration = duration,
                                .start = start});
    profile_.load.push_back(window_);
    window_ = live_;
    use(k.accesses, ordinal);
  }

  void take(const trace::Copy& c) {
    host_ += std::max(nanoseconds(trace_.header.host_op_ns), setting_.launch);
    if (c.device != device_) return;
    if (c.direction == trace::CopyDirection::HostToDevice)
      gpu_ = std::max(gpu_, host_) + setting_.links.in_time(c.bytes);
    if (c.direction == trace::CopyDirection::DeviceToHost)
      gpu_ = std::max(gpu_, host_) + setting_.links.out_time(c.bytes);
    if (!c.asynchronous) host_ = std::max(host_, gpu_);
    use_between(c.accesses);
  }
  void take(const trace::CollectiveOp& c) {
    if (c.device == device_) use_between(c.accesses);
  }
  void take(const trace::HostStep& h) { host_ += nanoseconds(h.duration_ns); }
  void take(const trace::Synchronize&) { host_ = std::max(host_, gpu_); }
  void take(const trace::Phase& p) { profile_.phases.push_back(trace_.strings[static_cast<std::size_t>(p.name)]); }
  void take(const trace::Layer&) {
    if (kernels() > 0) layer_ends_.insert(kernels() - 1);
  }
  template <class R>
  void take(const R&) {}

  bool covers(const trace::Access& a, std::int32_t tensor) const {
    using trace::Pattern;
    const std::int64_t bytes = asked_[static_cast<std::size_t>(tensor)];
    return a.offset == 0 && (a.length < 0 || a.length >= bytes) && a.pattern != Pattern::Strided &&
           a.pattern != Pattern::Order && a.pattern != Pattern::Chase && a.pattern != Pattern::Random;
  }

  void use(trace::AccessSpan span, std::int32_t kernel) {
    std::set<std::int32_t> overwritten, other;
    for (std::uint32_t i = span.first; i < span.first + span.count; ++i) {
      const trace::Access& access = trace_.accesses[i];
      const auto found = index_.find(access.tensor);
      if (found == index_.end()) continue;
      note_use(found->second, kernel);
      const bool whole = access.mode == trace::Mode::Write && covers(access, found->second);
      (whole ? overwritten : other).insert(found->second);
    }
    for (const std::int32_t t : overwritten)
      if (!other.contains(t)) overwrites_[static_cast<std::size_t>(t)].insert(kernel);
  }

  void note_use(std::int32_t tensor, std::int32_t kernel) {
    auto& uses = profile_.tensors[static_cast<std::size_t>(tensor)].uses;
    if (uses.empty() || uses.back() != kernel) uses.push_back(kernel);
  }

  // Between two kernels: the operand is there from the one to the other. The second is known later.
  void use_between(trace::AccessSpan span) {
    for (std::uint32_t i = span.first; i < span.first + span.count; ++i) {
      const auto found = index_.find(trace_.accesses[i].tensor);
      if (found == index_.end()) continue;
      if (kernels() > 0) note_use(found->second, kernels() - 1);
      between_.emplace_back(found->second, kernels());
    }
  }

  void finish() {
    const std::int32_t count = kernels();
    profile_.shape.kernels = count;
    if (count > 0) {
      profile_.load.back() = std::max(profile_.load.back(), window_);
      layer_ends_.insert(count - 1);
    }
    profile_.layer_ends.assign(layer_ends_.begin(), layer_ends_.end());
    profile_.length = std::max(gpu_, host_);
    for (ProfiledTensor& t : profile_.tensors)
      if (!t.freed) t.outer = count;
    for (const auto& [tensor, kernel] : between_) {
      auto& uses = profile_.tensors[static_cast<std::size_t>(tensor)].uses;
      const auto at = std::ranges::lower_bound(uses, kernel);
      if (kernel < count && (at == uses.end() || *at != kernel)) uses.insert(at, kernel);
    }
    for (std::size_t t = 0; t < profile_.tensors.size(); ++t) add_intervals(static_cast<std::int32_t>(t));
  }

  void add_intervals(std::int32_t index) {
    const auto i = static_cast<std::size_t>(index);
    const ProfiledTensor& tensor = profile_.tensors[i];
    for (std::size_t u = 1; u < tensor.uses.size(); ++u) add_interval(index, tensor.uses[u - 1], tensor.uses[u], false);
    if (index < profile_.shape.held && !tensor.freed && !tensor.uses.empty())
      add_interval(index, tensor.uses.back(), tensor.uses.front(), true);
  }

  void add_interval(std::int32_t tensor, std::int32_t from, std::int32_t to, bool wraps) {
    const std::int32_t between = wraps ? profile_.shape.kernels - 1 - from + to : to - from - 1;
    if (between <= 0) return;
    const auto kernel = [&](std::int32_t k) -> const ProfiledKernel& {
      return profile_.kernels[static_cast<std::size_t>(k)];
    };
    const std::int64_t bytes = profile_.tensors[static_cast<std::size_t>(tensor)].bytes;
    Duration gap = kernel(to).start - kernel(from).start - kernel(from).duration;
    if (wraps) gap += profile_.length;
    profile_.intervals.push_back({.tensor = tensor,
                                  .last_use = from,
                                  .next_use = to,
                                  .bytes = bytes,
                                  .wraps = wraps,
                                  .dead = overwrites_[static_cast<std::size_t>(tensor)].contains(to),
                                  .gap = gap,
                                  .slack = gap - setting_.links.out_time(bytes) - setting_.links.in_time(bytes)});
  }

  const trace::Trace& trace_;
  const int device_;
  const ProfileSetting& setting_;
  Profile& profile_;
  std::unordered_map<TensorId, std::int32_t> index_;  // of live tensors; looked up, never walked
  std::vector<std::int64_t> asked_;
  std::vector<std::set<std::int32_t>> overwrites_;  // kernels that overwrite the tensor without reading it
  std::vector<std::pair<std::int32_t, std::int32_t>> between_;
  std::set<std::int32_t> layer_ends_;
  std::int64_t live_ = 0, window_ = 0;  // bytes; at most, since the last launch
  Time host_{}, gpu_{};                 // when each is free
};

}  // namespace

bool counts_in_plans(const trace::Alloc& alloc, int device) {
  return alloc.device == device && (alloc.space < 0 || static_cast<trace::Space>(alloc.space) == trace::Space::Device);
}

std::int64_t Profile::peak() const { return load.empty() ? 0 : std::ranges::max(load); }

std::vector<std::int64_t> Profile::floor() const {
  std::vector<std::int64_t> change(load.size() + 1);
  const auto subtract = [&](std::int32_t first, std::int32_t outer, std::int64_t bytes) {
    change[static_cast<std::size_t>(first)] -= bytes;
    change[static_cast<std::size_t>(outer)] += bytes;
  };
  for (const Interval& i : intervals) {
    if (i.wraps) {
      subtract(i.last_use + 1, shape.kernels, i.bytes);
      subtract(0, i.next_use, i.bytes);
    } else {
      subtract(i.last_use + 1, i.next_use, i.bytes);
    }
  }
  std::vector<std::int64_t> result = load;
  std::int64_t sum = 0;
  for (std::size_t k = 0; k < result.size(); ++k) result[k] += sum += change[k];
  return result;
}

std::int32_t Profile::first_kernel_of(const std::string& name) const {
  for (std::size_t k = 0; k < kernels.size(); ++k)
    if (kernels[k].phase >= 0 && phases[static_cast<std::size_t>(kernels[k].phase)] == name)
      return static_cast<std::int32_t>(k);
  return -1;
}

std::vector<Profile> profile_iterations(const trace::Trace& trace, int device, int gpu, const ProfileSetting& setting) {
  std::vector<trace::Alloc> live;  // in the order of their allocation
  const auto follow = [&](const trace::Record& record) {
    if (const auto* a = std::get_if<trace::Alloc>(&record); a != nullptr && counts_in_plans(*a, device))
      live.push_back(*a);
    if (const auto* f = std::get_if<trace::Free>(&record))
      std::erase_if(live, [&](const trace::Alloc& a) { return a.tensor == f->tensor; });
  };
  std::vector<Profile> profiles;
  std::size_t at = 0;
  std::int32_t iteration = 0;
  const auto is_iteration = [&](std::size_t i) { return std::holds_alternative<trace::Iteration>(trace.records[i]); };
  for (; at < trace.records.size() && !is_iteration(at); ++at) follow(trace.records[at]);
  while (at < trace.records.size()) {
    std::size_t end = at + 1;
    while (end < trace.records.size() && !is_iteration(end)) ++end;
    Profile profile{.workload = trace.header.name,
                    .gpu = gpu,
                    .kinds = trace.header.kinds,
                    .links = setting.links,
                    .budget = setting.budget};
    profile.iteration = iteration++;
    Profiler(trace, device, setting, profile).run(live, at, end);
    const auto same = std::ranges::find_if(profiles, [&](const Profile& p) { return p.shape == profile.shape; });
    if (same == profiles.end())
      profiles.push_back(std::move(profile));
    else
      *same = std::move(profile);
    for (; at < end; ++at) follow(trace.records[at]);
  }
  return profiles;
}

}  // namespace uvmsim
