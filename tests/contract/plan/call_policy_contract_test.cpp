// Every registered call policy keeps the contract of plan/call_policy.h; a new file is enrolled by existing.
#include <algorithm>
#include <gtest/gtest.h>
#include <map>
#include <random>
#include <set>

#include "base/user_error.h"
#include "support/call_trace.h"
#include "support/generate.h"
#include "support/trace_text.h"
#include "trace/checker.h"

namespace uvmsim {
namespace {

class CallPolicyContract : public testing::TestWithParam<std::string> {
 protected:
  // With parameters under which the policy makes calls on any trace.
  static std::unique_ptr<CallPolicy> policy() {
    return call_policy(GetParam(),
                       GetParam() == "advise" ? R"({"read_mostly": "param,act", "min_bytes": "1 B"})" : "{}");
  }

  // Tensors of all kinds and sizes come, are used by kernels on two streams, and go.
  static trace::Trace random_trace(std::uint32_t seed) {
    std::mt19937 random(seed);
    const auto up_to = [&](std::uint32_t most) { return static_cast<std::uint32_t>(random() % (most + 1)); };
    TraceBuilder t = call_trace();
    std::vector<trace::TensorId> live;
    const auto one = [&] { return live[up_to(static_cast<std::uint32_t>(live.size()) - 1)]; };
    int iterations = 0;
    for (int i = 0; i < 200; ++i) {
      const std::uint32_t what = live.size() < 3 ? 0 : up_to(9);
      if (what < 2) {
        live.push_back(t.allocate(Bytes{static_cast<std::int64_t>(up_to(16)) * kMiB + 512},
                                  static_cast<TensorKind>(up_to(7)), up_to(9) == 0 ? 2 : -1));
      } else if (what == 2) {
        const trace::TensorId dead = one();
        std::erase(live, dead);
        t.free(dead);
      } else if (what == 3) {
        t.iteration(iterations++);
      } else if (what == 4) {
        t.host_step({reads(one())});
      } else {
        t.kernel("f", kernel_on(static_cast<std::int32_t>(up_to(1))), {reads(one()), updates(one()), writes(one())});
      }
    }
    return t.take();
  }

  static std::vector<trace::Trace> traces() {
    std::vector<trace::Trace> traces = {generate("resnet1001", R"({"batch": 1})", 1)};
    for (std::uint32_t seed = 1; seed <= 20; ++seed) traces.push_back(random_trace(seed));
    return traces;
  }
};

TEST_P(CallPolicyContract, TheTraceWithItsCallsIsValid) {
  std::size_t calls_made = 0;
  for (const trace::Trace& trace : traces()) {
    const auto calls = policy()->calls(trace, setting_of());
    calls_made += calls.size();
    const std::vector<InputError> errors = check_trace(insert_calls(trace, calls));
    ASSERT_TRUE(errors.empty()) << errors.front().place << ": " << errors.front().message;
  }
  EXPECT_GT(calls_made, 100u);
}

TEST_P(CallPolicyContract, CallsNameManagedTensorsThatLiveThereAndStandInOrder) {
  for (const trace::Trace& trace : traces()) {
    std::map<trace::TensorId, std::pair<std::size_t, std::size_t>> lives;
    std::set<trace::TensorId> on_host;
    for (std::size_t i = 0; i < trace.records.size(); ++i) {
      if (const auto* alloc = std::get_if<trace::Alloc>(&trace.records[i])) {
        lives[alloc->tensor] = {i, trace.records.size()};
        if (alloc->space > 0) on_host.insert(alloc->tensor);
      }
      if (const auto* free = std::get_if<trace::Free>(&trace.records[i])) lives[free->tensor].second = i;
    }
    std::size_t last = 0;
    for (const InsertedCall& call : policy()->calls(trace, setting_of())) {
      EXPECT_GE(call.at, last);
      last = call.at;
      std::visit(
          [&](const auto& r) {
            if constexpr (requires { r.tensor; }) {
              EXPECT_GT(call.at, lives[r.tensor].first) << "tensor " << r.tensor;
              EXPECT_LE(call.at, lives[r.tensor].second) << "tensor " << r.tensor;
              EXPECT_FALSE(on_host.contains(r.tensor));
            }
          },
          call.call);
    }
  }
}

TEST_P(CallPolicyContract, TheSameTraceGivesTheSameCalls) {
  for (const trace::Trace& trace : traces())
    EXPECT_EQ(lines_of(policy()->calls(trace, setting_of())), lines_of(policy()->calls(trace, setting_of())));
}

TEST_P(CallPolicyContract, NothingButCallsIsAdded) {
  const trace::Trace trace = random_trace(1);
  trace::Trace with = insert_calls(trace, policy()->calls(trace, setting_of()));
  std::erase_if(with.records, [](const trace::Record& r) {
    return std::holds_alternative<trace::Prefetch>(r) || std::holds_alternative<trace::Discard>(r) ||
           std::holds_alternative<trace::Advise>(r) || std::holds_alternative<trace::EventRecord>(r) ||
           std::holds_alternative<trace::EventWait>(r);
  });
  EXPECT_EQ(trace::text_of(with), trace::text_of(trace));
}

INSTANTIATE_TEST_SUITE_P(All, CallPolicyContract, testing::ValuesIn(call_policies().names()),
                         [](const auto& named) { return named.param; });

}  // namespace
}  // namespace uvmsim
