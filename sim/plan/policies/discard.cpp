#include <algorithm>

#include "base/user_error.h"
#include "plan/call_policy.h"
#include "plan/tensor_lives.h"
#include "trace/pattern.h"
#include "trace/visitor.h"

namespace uvmsim {
namespace {

struct DiscardOptions {
  std::string mode = "eager";
  std::string when = "free";
  Bytes min_bytes{64 << 10};
  bool overwritten = false;

  static const Description& description() {
    using O = DiscardOptions;
    static const Description d =
        Describe<O>("cuMemDiscardBatchAsync of what will not be read again (driver 580 and later)")
            .text("mode", &O::mode,
                  "eager: unmaps, so that the next write takes a fault; lazy: leaves the mappings, and the program "
                  "prefetches a block before it uses it again",
                  {"eager", "lazy"})
            .text("when", &O::when,
                  "when to discard a tensor that will be freed: at its free, or right after its last use",
                  {"free", "last_use"})
            .bytes("min_bytes", &O::min_bytes, "smaller tensors are not worth a call")
            .flag("overwritten", &O::overwritten,
                  "also tensors that stay allocated, after each use whose successor overwrites all of them")
            .build();
    return d;
  }
};

// The stream of the work that record `at` issues; 0 for the host.
std::int32_t stream_of(const trace::Record& record) {
  return std::visit(
      [](const auto& r) -> std::int32_t {
        if constexpr (requires { r.stream; }) return r.stream;
        return 0;
      },
      record);
}

// Whether record `at` overwrites all of `life` and reads nothing of it.
bool overwrites(const trace::Trace& trace, const TensorLife& life, std::size_t at) {
  const trace::AccessSpan* span = trace::access_span(trace.records[at]);
  bool whole = false;
  for (std::uint32_t a = span->first; a < span->first + span->count; ++a) {
    const trace::Access& access = trace.accesses[a];
    if (access.tensor != life.alloc.tensor) continue;
    if (access.mode != trace::Mode::Write) return false;
    whole |= trace::covers_its_range(access, life.alloc.bytes);
  }
  return whole;
}

class DiscardDead final : public With<CallPolicy, DiscardOptions> {
 public:
  std::vector<InsertedCall> calls(const trace::Trace& trace, const CallSetting& setting) const override {
    if (!setting.has_discard)
      throw UserError(trace.header.name, {{"/driver/version", "the call policy \"discard\" needs 580 or later"}});
    const TensorLives lives(trace, setting.placement.memory);
    std::vector<InsertedCall> calls;
    for (const TensorLife& life : lives.all())
      if (lives.managed(life) && life.alloc.bytes >= options_.min_bytes.value) add(trace, life, calls);
    std::ranges::stable_sort(calls, {}, &InsertedCall::at);
    return calls;
  }

 private:
  void add(const trace::Trace& trace, const TensorLife& life, std::vector<InsertedCall>& calls) const {
    if (life.uses.empty()) return;
    const bool lazy = options_.mode == "lazy";
    const auto discard_after = [&](std::size_t use, std::size_t at) {
      calls.push_back(
          {at, trace::Discard{.tensor = life.alloc.tensor, .stream = stream_of(trace.records[use]), .lazy = lazy}});
    };
    const auto prefetch_before = [&](std::size_t use) {
      if (lazy && !std::holds_alternative<trace::HostStep>(trace.records[use]))
        calls.push_back({use, trace::Prefetch{.tensor = life.alloc.tensor,
                                              .destination = life.alloc.device,
                                              .stream = stream_of(trace.records[use])}});
    };
    prefetch_before(life.uses.front());  // it may lie where another tensor was discarded
    if (options_.overwritten)
      for (std::size_t i = 0; i + 1 < life.uses.size(); ++i) {
        if (!overwrites(trace, life, life.uses[i + 1])) continue;
        discard_after(life.uses[i], life.uses[i] + 1);
        prefetch_before(life.uses[i + 1]);
      }
    if (life.freed == kNoRecord) return;
    discard_after(life.uses.back(), options_.when == "free" ? life.freed : life.uses.back() + 1);
  }
};

const bool kRegistered = add_plug_in<CallPolicy, DiscardDead>(
    {.name = "discard",
     .summary = "discard what is dead: tensors at their free or after their last use",
     .source = "Zhu, Cox, Vesely, Hairgrove, Rixner, IISWC 2022: UVM discard"});

}  // namespace
}  // namespace uvmsim
