#pragma once

#include <atomic>
#include <cstdint>
#include <mutex>
#include <set>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "allocations.h"
#include "encode.h"
#include "record.h"

namespace uvmcap {

// External ids of the calling thread: `Call::external` is the top. They work before and without a recorder.
void push_external(std::uint64_t id);
void pop_external();
std::uint64_t top_external();

// The number of the calling thread, 0 for the first that asks.
std::uint32_t thread_number();

// Writes records to one file, from any thread, in the order in which they come. What was written reaches the kernel
// when 64 KiB are gathered, when the last time is `flush_ns` ago, and on flush(): a killed program keeps all but the
// rest.
class Recorder {
 public:
  using Clock = std::uint64_t (*)();

  // Opens a new file; if `path` exists, path.2, path.3, ... On failure error() says why and all writes do nothing.
  Recorder(const std::string& path, std::uint64_t max_bytes, std::uint64_t flush_ns, Clock clock);
  ~Recorder();
  Recorder(const Recorder&) = delete;
  Recorder& operator=(const Recorder&) = delete;

  const std::string& path() const { return path_; }
  const std::string& error() const { return error_; }
  std::uint64_t now() const { return clock_(); }
  Allocations& allocations() { return allocations_; }

  // False once the file cannot be written, is full or ended, or in a child that the process forked.
  bool active() const { return active_; }

  // Any record of record.h but Limit and End. A stream is written once.
  template <typename Record>
  void write(const Record& record) {
    if (!active_) return;
    const std::lock_guard lock(mutex_);
    if (!active_ || !count(record)) return;
    encoder_.encode(record, pending_);
    after_line();
  }

  void flush();
  // Writes the `end` line and closes the file.
  void end();
  // For the child of a fork: writes nothing any more, also not what is still gathered.
  void abandon() { active_ = false; }

 private:
  // Counts a record by its side; false: don't write it.
  bool count(const StreamInfo& stream) { return streams_.emplace(stream.device, stream.stream).second; }
  bool count(const Dropped& dropped) {
    dropped_ += dropped.records;
    return true;
  }
  template <typename Record>
  bool count(const Record& record) {
    if constexpr (requires { record.call; } || std::is_same_v<Record, Mark>) ++host_;
    if constexpr (requires { record.start; }) ++gpu_;
    return true;
  }
  void after_line();
  void write_end();
  void send();

  std::string path_;
  std::string error_;
  std::uint64_t max_bytes_;
  std::uint64_t flush_ns_;
  Clock clock_;
  Allocations allocations_;
  std::atomic<bool> active_{false};

  std::mutex mutex_;  // guards what follows
  int file_ = -1;
  Encoder encoder_;
  std::string pending_;
  std::uint64_t sent_bytes_ = 0;
  std::uint64_t sent_at_ = 0;
  std::set<std::pair<std::uint32_t, std::uint32_t>> streams_;  // device, stream
  std::uint64_t host_ = 0;
  std::uint64_t gpu_ = 0;
  std::uint64_t dropped_ = 0;
};

}  // namespace uvmcap
