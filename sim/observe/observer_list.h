// Several observers as one.
#pragma once

#include <vector>

#include "observe/observer.h"

namespace uvmsim {

// Passes everything on to each of its observers, in order.
class ObserverList final : public Observer {
 public:
  // `observer` must outlive the list. At most one of them may want residencies.
  void add(Observer& observer) { observers_.push_back(&observer); }
  bool empty() const { return observers_.empty(); }

  void stream_opened(const ObservedStream& s) override { each(&Observer::stream_opened, s); }
  void link_opened(const ObservedLink& l) override { each(&Observer::link_opened, l); }
  void iteration(GpuIndex gpu, std::int64_t index, Time at) override { each(&Observer::iteration, gpu, index, at); }
  void kernel_started(const KernelStart& k) override { each(&Observer::kernel_started, k); }
  void kernel(const KernelSpan& k) override { each(&Observer::kernel, k); }
  void stream_operation(const StreamSpan& s) override { each(&Observer::stream_operation, s); }
  void host_call(const HostSpan& h) override { each(&Observer::host_call, h); }
  void fault_batch(const FaultBatchSpan& b) override { each(&Observer::fault_batch, b); }
  void copy(const CopySpan& c) override { each(&Observer::copy, c); }
  void eviction(const EvictionEvent& e) override { each(&Observer::eviction, e); }
  void transfer(const LinkTransfer& t) override { each(&Observer::transfer, t); }
  void link_busy(int link, Time begin, Time end) override { each(&Observer::link_busy, link, begin, end); }
  void resident(GpuIndex gpu, Time at, Bytes bytes) override { each(&Observer::resident, gpu, at, bytes); }
  void reserved(int process, Time at, Bytes bytes) override { each(&Observer::reserved, process, at, bytes); }
  std::span<const TensorRange> residency_wanted(GpuIndex gpu, Time at) override {
    for (Observer* o : observers_)
      if (const auto wanted = o->residency_wanted(gpu, at); !wanted.empty()) return wanted;
    return {};
  }
  void residency(GpuIndex gpu, Time at, std::span<const std::int64_t> bytes) override {
    each(&Observer::residency, gpu, at, bytes);
  }

 private:
  template <class... P, class... A>
  void each(void (Observer::*told)(P...), const A&... what) {
    for (Observer* o : observers_) (o->*told)(what...);
  }

  std::vector<Observer*> observers_;
};

}  // namespace uvmsim
