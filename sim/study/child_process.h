// Work done in a process of its own: the engine allows one simulation per process, and a crash stays there.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <string>
#include <sys/types.h>

#include "base/units.h"
#include "study/shared_object.h"

namespace uvmsim {

class ChildProcess {
 public:
  // Starts `work` in a fork of this process, in a thread of its own there. Its exceptions end the child as failed.
  // Throws std::system_error when there can be no child. Call it before the engine is used, and from the only thread,
  // or from another child's work. The child dies with this process, however that ends.
  explicit ChildProcess(const std::function<std::string()>& work);
  // Kills the child if it was not waited for.
  ~ChildProcess();
  ChildProcess(const ChildProcess&) = delete;
  ChildProcess& operator=(const ChildProcess&) = delete;

  // What `work` returned, once it has. Throws std::runtime_error, saying how the child ended, when it failed: that is
  // a fault of this program. Call once.
  std::string wait();
  // Readable, for poll(), as soon as wait() need not wait for the work.
  int handle() const { return pipe_; }
  // 0 after wait().
  pid_t pid() const { return pid_; }
  // Known after wait(): the largest resident size among the child and the children it waited for, and the user and
  // system time of all of them.
  std::int64_t peak_rss_bytes() const { return peak_rss_bytes_; }
  double cpu_s() const { return cpu_s_; }
  // How far the work is, 0..1: the most that the child said with `tell_share`.
  double share() const { return share_->load(); }

 private:
  pid_t pid_ = 0;  // 0: reaped
  int pipe_ = -1;  // its read end
  std::int64_t peak_rss_bytes_ = 0;
  double cpu_s_ = 0;
  SharedObject<std::atomic<double>> share_;
};

// In a child process: how far its work is, 0..1, for who asks the parent. Elsewhere it does nothing.
void tell_share(double share);
// The same as RunOptions::progress.
std::function<void(double, Time)> told_share();

// This process's largest resident size so far.
std::int64_t peak_rss_bytes();

}  // namespace uvmsim
