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

class CallPolicy {
 public:
  virtual ~CallPolicy() = default;

  // The parameters, described; `parameters()` is the object the description describes. They are the keys of the
  // config's "workload.call_options.NAME".
  virtual const Description& description() const = 0;
  virtual void* parameters() = 0;
  // What is wrong with the parameters taken together; empty: nothing.
  virtual std::vector<std::string> contradictions() const { return {}; }

  // The calls, in ascending order of `at`; of those at one place, in the order of issue. Only tensors in managed
  // memory that are allocated there are named. The same trace and setting, the same calls.
  // Throws UserError when the policy cannot deal with the trace.
  virtual std::vector<InsertedCall> calls(const trace::Trace& trace, const CallSetting& setting) const = 0;

  // Name of the gate (`uvmsim list gate`) that decides at run time whether each prefetch is made; "": all are.
  virtual std::string gate() const { return ""; }
};

using CallPolicyRegistry = Registry<std::unique_ptr<CallPolicy>()>;
CallPolicyRegistry& call_policies();

struct NamedCallPolicy {
  std::string name;
  std::shared_ptr<CallPolicy> policy;
};

// `trace` with `calls` put in; where several policies speak, the calls of the earlier ones come first.
trace::Trace insert_calls(trace::Trace trace, std::vector<InsertedCall> calls);

// --- implementation

template <class P>
class DescribedPolicy final : public CallPolicy {
 public:
  const Description& description() const override { return P::describe(); }
  void* parameters() override { return &policy_.options; }
  std::vector<std::string> contradictions() const override {
    if constexpr (requires { policy_.contradictions(); }) return policy_.contradictions();
    return {};
  }
  std::vector<InsertedCall> calls(const trace::Trace& trace, const CallSetting& setting) const override {
    return policy_.calls(trace, setting);
  }
  std::string gate() const override {
    if constexpr (requires { policy_.gate(); }) return policy_.gate();
    return "";
  }

 private:
  P policy_;
};

// Registers the policy P: a struct with `options` (its parameters), a static `describe()` of these, and `calls`; it
// may have `contradictions` and `gate`. All as in CallPolicy.
template <class P>
bool add_call_policy(std::string name, std::string summary, std::string source) {
  return call_policies().add(
      {std::move(name), std::move(summary), std::move(source), [] { return std::make_unique<DescribedPolicy<P>>(); }});
}

}  // namespace uvmsim
