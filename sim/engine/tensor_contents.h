// Which contents tensors have: what a plan may never get wrong. A kernel needs the contents that its first run left or
// found there; dropped ones are lost until a kernel makes them again.
#pragma once

#include <cstdint>
#include <string>
#include <unordered_map>
#include <vector>

#include "memory/program.h"

namespace uvmsim {

// Of one tensor.
struct Contents {
  std::int64_t version = 0;  // of what is there, counted in writes
  std::int64_t newest = 0;   // that the program has come to
  bool lost = false;         // nothing is there
};

// How an operation uses one tensor, all its operands together.
struct ContentsUse {
  VirtualAddress tensor = 0;
  bool reads = false;
  bool writes = false;
  bool overwrites = false;  // all of it, and it reads nothing of it

  bool needs() const { return reads || (writes && !overwrites); }
};

// Follows kernels in issue order. A kernel that will run again is remembered with the versions that it found.
class ContentsLog {
 public:
  // The kernels, as operations of `program`, that run again under its plans.
  explicit ContentsLog(const Program& program);

  // Kernel, copy or collective `op` (nullptr: something that never runs again) uses `contents`. Returns what is wrong;
  // "": nothing.
  std::string use(const Op* op, const ContentsUse& use, Contents& contents);
  // Whether kernel `op`, which will run again and uses tensors, has run.
  bool has_run(const Op& op) const { return !found_.at(&op).empty(); }
  // Kernel `op` runs again.
  std::string use_again(const Op& op, const ContentsUse& use, Contents& contents) const;

 private:
  const Program& program_;
  // By kernel and tensor, the version that the kernel found; looked up, never walked.
  std::unordered_map<const Op*, std::vector<std::pair<VirtualAddress, std::int64_t>>> found_;
};

}  // namespace uvmsim
