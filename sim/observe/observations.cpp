#include "observe/observations.h"

#include <algorithm>

namespace uvmsim {
namespace {

// Between samples of residency, where the iteration before does not tell its length; it doubles.
constexpr Duration kFirstInterval{100'000'000};  // 100 us

}  // namespace

ObservationRecorder::ObservationRecorder(ObservationSetup setup)
    : setup_(std::move(setup)),
      watched_of_(setup_.label_of.size(), -1),
      tensors_(setup_.labels.size()),
      watching_(setup_.iteration == ObservationSetup::kWholeRun),
      interval_(kFirstInterval),
      uses_(setup_.watched.size()),
      residency_(setup_.watched.size()) {
  for (std::size_t i = 0; i < setup_.watched.size(); ++i)
    watched_of_[static_cast<std::size_t>(setup_.watched[i].tensor)] = static_cast<std::int32_t>(i);
  for (std::size_t i = 0; i < tensors_.size(); ++i) tensors_[i].label = setup_.labels[i];
}

ObservationRecorder::Gpu& ObservationRecorder::gpu(GpuIndex index) {
  while (!gpus_.contains(index)) gpus_.emplace_back();
  return gpus_[index];
}

void ObservationRecorder::link_opened(const ObservedLink& link) {
  links_.push_back({std::string(link.name), static_cast<double>(link.bandwidth.value), FlowSeries{}});
}

void ObservationRecorder::iteration(GpuIndex gpu, std::int64_t index, Time at) {
  see(at);
  if (index >= 0) iterations_.push_back({gpu, index, at});
  if (gpu != setup_.gpu) return;
  if (watching_) watched_end_ = at;
  if (setup_.iteration == ObservationSetup::kWholeRun) return;
  watching_ = index == setup_.iteration;
  if (watching_) {
    watched_begin_ = next_sample_ = at;
    if (last_iteration_ > Time{0}) interval_ = (at - last_iteration_) / static_cast<std::int64_t>(kSamples);
  }
  last_iteration_ = at;
}

void ObservationRecorder::kernel_started(const KernelStart& k) {
  Gpu& g = gpu(k.gpu);
  g.operands.assign(k.operands.begin(), k.operands.end());
  g.running.clear();
  if (k.process != 0 || !watching(k.gpu)) return;
  for (const TensorRange& operand : k.operands) {
    const std::int32_t watched = watched_of_[static_cast<std::size_t>(operand.tensor)];
    if (watched < 0) continue;
    g.running.push_back(watched);
    Use& use = uses_[static_cast<std::size_t>(watched)];
    use.first = std::min(use.first, k.begin);
  }
}

void ObservationRecorder::kernel(const KernelSpan& k) {
  see(k.end);
  for (const std::int32_t watched : gpu(k.gpu).running) uses_[static_cast<std::size_t>(watched)].last = k.end;
  const auto found = kernels_.find(k.name);
  KernelObservations& all = found != kernels_.end() ? found->second : kernels_[std::string(k.name)];
  all.name = k.name;
  ++all.count;
  all.in_core += k.in_core;
  all.time += k.time;
}

void ObservationRecorder::fault_batch(const FaultBatchSpan& b) {
  see(b.replayed);
  Gpu& g = gpu(b.gpu);
  g.batches.add(b.begin, b.begin, 1);
  g.entries.add(b.begin, b.begin, static_cast<double>(b.pages.size()));
  const double share = seconds(b.replayed - b.begin) / static_cast<double>(b.pages.size());
  for (const PageNumber page : b.pages) {
    const VirtualAddress address = address_of(page);
    const auto operand = std::ranges::find_if(g.operands, [&](const TensorRange& o) {
      return o.tensor >= 0 && address < o.end && address + kPageBytes > o.begin;
    });
    if (operand == g.operands.end()) continue;
    TensorObservations& tensor =
        tensors_[static_cast<std::size_t>(setup_.label_of[static_cast<std::size_t>(operand->tensor)])];
    ++tensor.faults;
    tensor.batch_s += share;
  }
}

void ObservationRecorder::copy(const CopySpan& c) {
  see(c.end);
  Gpu& g = gpu(c.gpu);
  (c.to_device ? g.bytes_in : g.bytes_out).add(c.begin, c.end, static_cast<double>(c.bytes.value));
}

void ObservationRecorder::eviction(const EvictionEvent& e) {
  see(e.at);
  gpu(e.gpu).evicted.add(e.at, e.at, static_cast<double>(e.bytes.value));
}

void ObservationRecorder::transfer(const LinkTransfer& t) {
  see(t.end);
  links_[static_cast<std::size_t>(t.link)].carried.add(t.begin, t.end, static_cast<double>(t.bytes.value));
}

void ObservationRecorder::resident(GpuIndex index, Time at, Bytes bytes) {
  gpu(index).resident.set(at, static_cast<double>(bytes.value));
}

void ObservationRecorder::reserved(int process, Time at, Bytes bytes) {
  const auto i = static_cast<std::size_t>(process);
  if (i >= reserved_.size()) reserved_.resize(i + 1);
  reserved_[i].set(at, static_cast<double>(bytes.value));
}

// --- residency of single tensors

std::span<const TensorRange> ObservationRecorder::residency_wanted(GpuIndex gpu, Time at) {
  if (!watching(gpu) || at < next_sample_) return {};
  return setup_.watched;
}

void ObservationRecorder::residency(GpuIndex /*gpu*/, Time at, std::span<const std::int64_t> bytes) {
  sampled_.push_back(at);
  for (std::size_t i = 0; i < bytes.size(); ++i) {
    const auto size = static_cast<std::int64_t>(setup_.watched[i].end - setup_.watched[i].begin);
    // The first and last page may be shared with neighbours: all of it is at most all of it.
    residency_[i] += static_cast<char>('0' + std::min<std::int64_t>(9, (bytes[i] * 9 + size - 1) / size));
  }
  next_sample_ = at + interval_;
  if (sampled_.size() > kSamples) thin_out();
}

// Every second sample stays.
void ObservationRecorder::thin_out() {
  const auto halve = [](auto& samples) {
    for (std::size_t i = 0; 2 * i < samples.size(); ++i) samples[i] = samples[2 * i];
    samples.resize((samples.size() + 1) / 2);
  };
  halve(sampled_);
  for (std::string& of_tensor : residency_) halve(of_tensor);
  interval_ *= 2;
}

// --- the outcome

Observations ObservationRecorder::observations() const {
  Observations o;
  o.end = end_;
  o.iterations = iterations_;
  o.watched_gpu = setup_.gpu;
  o.watched_begin = watched_begin_;
  o.watched_end = watched_end_;
  o.sampled = sampled_;
  for (const Gpu& g : gpus_)
    o.gpus.push_back(
        {{g.resident.picture(end_, kPoints), g.entries.picture(end_, kPoints), g.batches.picture(end_, kPoints),
          g.bytes_in.picture(end_, kPoints), g.bytes_out.picture(end_, kPoints), g.evicted.picture(end_, kPoints)}});
  for (const LevelSeries& r : reserved_) o.reserved.push_back(r.picture(end_, kPoints));
  for (const Link& link : links_)
    if (link.carried.total() > 0) o.links.push_back({link.name, link.bandwidth, link.carried.picture(end_, kPoints)});
  for (const auto& [name, kernel] : kernels_) o.kernels.push_back(kernel);
  std::ranges::stable_sort(o.kernels, std::greater{}, [](const KernelObservations& k) { return k.time.stalled(); });
  for (const TensorObservations& t : tensors_)
    if (t.faults > 0) o.tensors.push_back(t);
  std::ranges::stable_sort(o.tensors, std::greater{}, &TensorObservations::batch_s);
  for (std::size_t i = 0; i < setup_.watched.size(); ++i) {
    const TensorRange& range = setup_.watched[i];
    if (uses_[i].first == kNever) continue;
    const auto label = static_cast<std::size_t>(setup_.label_of[static_cast<std::size_t>(range.tensor)]);
    o.lives.push_back({.label = setup_.labels[label],
                       .bytes = static_cast<std::int64_t>(range.end - range.begin),
                       .first_use = uses_[i].first,
                       .last_use = uses_[i].last,
                       .resident = residency_[i]});
  }
  std::ranges::stable_sort(o.lives, {}, &ObservedTensor::first_use);
  return o;
}

}  // namespace uvmsim
