// Call policies answer "which calls that a program could make itself would it make?": prefetches, advice, discards.
//
// A policy sees the whole trace, as a framework that has run an iteration knows it, and returns calls to put in.
// Whatever it decides, a program can do on hardware. One file each in plan/policies/.
#pragma once

#include <memory>
#include <span>
#include <string>
#include <vector>

#include "base/describe.h"
#include "base/registry.h"
#include "memory/allocator.h"
#include "trace/record.h"

namespace uvmsim {

// What a program can ask its device for, and how its framework places allocations.
struct CallSetting {
  Bytes gpu_memory{};        // what managed allocations of one GPU can use
  bool has_discard = false;  // the driver's version knows it
  PlacementOptions placement;
};

// Issued right before record `at` of the trace; at the end when `at` is the number of records.
struct InsertedCall {
  std::size_t at = 0;
  trace::Record call;  // Prefetch, Discard, Advise, EventRecord or EventWait
};

class CallPolicy : public PlugIn {
 public:
  static constexpr KindText kKind{.name = "calls",
                                  .noun = "call policy",
                                  .use = "workload.calls",
                                  .options = "workload.call_options",
                                  .section_each = true};

  // What is wrong with the parameters taken together; empty: nothing.
  virtual std::vector<std::string> contradictions() const { return {}; }

  // The calls, in ascending order of `at`; of those at one place, in the order of issue. Only tensors in managed
  // memory that are allocated there are named. The same trace and setting, the same calls.
  // Throws UserError when the policy cannot deal with the trace.
  virtual std::vector<InsertedCall> calls(const trace::Trace& trace, const CallSetting& setting) const = 0;

  // Name of the gate (`uvmsim list gate`) that decides at run time whether each prefetch is made; "": all are.
  virtual std::string gate() const { return ""; }
};

inline Registry<CallPolicy>& call_policies() { return registry<CallPolicy>(); }

struct NamedCallPolicy {
  std::string name;
  std::shared_ptr<CallPolicy> policy;
};

// `trace` with `calls` put in; where several policies speak, the calls of the earlier ones come first.
trace::Trace insert_calls(trace::Trace trace, std::vector<InsertedCall> calls);

}  // namespace uvmsim
