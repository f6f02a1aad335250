#include <algorithm>
#include <array>
#include <sstream>

#include "base/user_error.h"
#include "plan/call_policy.h"
#include "plan/tensor_lives.h"

namespace uvmsim {
namespace {

struct AdviseOptions {
  std::string preferred_location_gpu, preferred_location_host, accessed_by_gpu, read_mostly;
  Bytes min_bytes{2 << 20};
  bool take_back = true;

  static const Description& description() {
    using O = AdviseOptions;
    static const Description d =
        Describe<O>("cudaMemAdvise by kind of tensor; kinds are separated by commas: param, wgrad, grad, act, opt, ...")
            .text("preferred_location_gpu", &O::preferred_location_gpu, "kinds that prefer to stay on their GPU")
            .text("preferred_location_host", &O::preferred_location_host, "kinds that prefer to stay on the host")
            .text("accessed_by_gpu", &O::accessed_by_gpu,
                  "kinds that stay mapped on their GPU; with preferred_location_host: zero-copy")
            .text("read_mostly", &O::read_mostly, "kinds that are duplicated when read")
            .bytes("min_bytes", &O::min_bytes,
                   "smaller tensors get no advice: it would cut the 2 MiB blocks they share")
            .flag("take_back", &O::take_back,
                  "when a tensor is freed its memory loses the advice. Advice is not in stream order: a host that runs "
                  "ahead takes it back before the kernels run. Without, the next tensor there inherits it")
            .build();
    return d;
  }
};

// Advice that tensors of some kinds get.
struct Rule {
  const char* key;
  std::string AdviseOptions::*kinds;
  trace::Advice advice;
  bool to_host;
};

const std::array<Rule, 4> kRules = {
    {{"preferred_location_gpu", &AdviseOptions::preferred_location_gpu, trace::Advice::PreferredLocation, false},
     {"preferred_location_host", &AdviseOptions::preferred_location_host, trace::Advice::PreferredLocation, true},
     {"accessed_by_gpu", &AdviseOptions::accessed_by_gpu, trace::Advice::AccessedBy, false},
     {"read_mostly", &AdviseOptions::read_mostly, trace::Advice::ReadMostly, false}}};

// Which of `kinds` the comma-separated `names` name. Appends an error for each that is none of them.
std::vector<bool> kinds_named(const Rule& rule, const std::string& names, const std::vector<std::string>& kinds,
                              std::vector<InputError>& errors) {
  std::vector<bool> named(kinds.size());
  std::istringstream in(names);
  for (std::string name; std::getline(in, name, ',');) {
    const auto found = std::ranges::find(kinds, name);
    if (found != kinds.end()) {
      named[static_cast<std::size_t>(found - kinds.begin())] = true;
      continue;
    }
    errors.push_back({std::string("/workload/call_options/advise/") + rule.key,
                      "the trace has no kind of tensor named \"" + name + "\"" + did_you_mean(name, kinds)});
  }
  return named;
}

class AdvisePolicy final : public With<CallPolicy, AdviseOptions> {
 public:
  std::vector<std::string> contradictions() const override {
    std::istringstream in(options_.preferred_location_gpu);
    for (std::string name; std::getline(in, name, ',');)
      if (("," + options_.preferred_location_host + ",").find("," + name + ",") != std::string::npos)
        return {"\"" + name + "\" prefers both its GPU and the host"};
    return {};
  }

  std::vector<InsertedCall> calls(const trace::Trace& trace, const CallSetting& setting) const override {
    std::vector<InputError> errors;
    std::vector<std::vector<bool>> named;
    for (const Rule& rule : kRules)
      named.push_back(kinds_named(rule, options_.*rule.kinds, trace.header.kinds, errors));
    if (!errors.empty()) throw UserError(trace.header.name, std::move(errors));

    const TensorLives lives(trace, setting.placement.memory);
    std::vector<InsertedCall> calls;
    for (const TensorLife& life : lives.all()) {
      if (!lives.managed(life) || life.alloc.bytes < options_.min_bytes.value) continue;
      for (std::size_t r = 0; r < kRules.size(); ++r)
        if (life.alloc.kind < named[r].size() && named[r][life.alloc.kind]) add(life, kRules[r], calls);
    }
    std::ranges::stable_sort(calls, {}, &InsertedCall::at);
    return calls;
  }

 private:
  // Advice belongs to addresses, not to tensors.
  void add(const TensorLife& life, const Rule& rule, std::vector<InsertedCall>& calls) const {
    const auto advice = static_cast<std::int8_t>(rule.advice);
    const std::int8_t device = rule.to_host ? std::int8_t{-1} : life.alloc.device;
    calls.push_back(
        {life.allocated + 1, trace::Advise{.tensor = life.alloc.tensor, .advice = advice, .device = device}});
    if (options_.take_back && life.freed != kNoRecord)
      calls.push_back(
          {life.freed,
           trace::Advise{.tensor = life.alloc.tensor, .advice = static_cast<std::int8_t>(-advice), .device = device}});
  }
};

const bool kRegistered = add_plug_in<CallPolicy, AdvisePolicy>(
    {.name = "advise",
     .summary = "advise by kind of tensor: preferred location, accessed by, read mostly, zero-copy",
     .source = "CUDA C++ Programming Guide, data usage hints; driver specification, section 8"});

}  // namespace
}  // namespace uvmsim
