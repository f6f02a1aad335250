// The counters of a GPU's accesses to memory it maps remotely, and their notifications.
//
// Source: driver specification, section 7; uvm_gpu_access_counters.c. Pascal has none.
#pragma once

#include <cstdint>
#include <map>
#include <utility>
#include <vector>

#include "uvm/driver.h"

namespace uvmsim {

class AccessCounters {
 public:
  AccessCounters(const Machine& machine, const GpuSpec& gpu);

  // Whether pages are to migrate for accesses; and whether they do: on hosts with pages of 4 KiB drivers from 550 on
  // enable the counters of ATS systems and drop their notifications.
  bool enabled() const { return enabled_; }
  bool served() const { return enabled_ && served_; }
  // Each of `pages` was accessed `accesses` times. A counter that reaches the threshold notifies the driver, once until
  // it is cleared.
  void count(int va_space, FrameIndex frame, const PageMask& pages, std::int64_t accesses);
  bool notified() const { return !notified_.empty(); }
  // The oldest notifications, at most a batch, by address; their counters are cleared.
  std::vector<AccessNotification> fetch();

 private:
  using Key = std::pair<int, PageNumber>;  // a process and the first page that the counter watches
  struct Counter {
    std::int64_t accesses = 0;
    PageMask touched;  // of the frame, in whole 64 KiB
  };

  bool enabled_, served_;
  std::int64_t threshold_;
  std::size_t batch_count_;
  std::uint32_t watched_pages_;  // by one counter
  std::map<Key, Counter> counters_;
  std::vector<Key> notified_;  // in order of arrival
};

}  // namespace uvmsim
