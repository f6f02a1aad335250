// Random small networks, for planners.
#pragma once

#include <cstdint>
#include <map>
#include <random>
#include <vector>

#include "workload/trace_builder.h"

namespace uvmsim {

// Kernels on one stream, or each on either of two: it waits for those on the other one that used its operands.
class StreamsOfNet {
 public:
  StreamsOfNet(TraceBuilder& trace, bool two, std::uint64_t seed) : trace_(trace), two_(two), random_(seed) {}

  void kernel(const char* name, std::int64_t nanoseconds, const std::vector<trace::Access>& operands) {
    const auto stream = static_cast<std::int32_t>(two_ ? random_() % 2 : 0);
    for (const trace::Access& a : operands)
      for (const auto& [event, of] : used_[a.tensor])
        if (of != stream) trace_.append(trace::EventWait{event, stream});
    trace_.kernel(name, {.stream = stream, .duration_ns = nanoseconds}, operands);
    if (!two_) return;
    trace_.append(trace::EventRecord{next_event_, stream});
    for (const trace::Access& a : operands) used_[a.tensor].emplace_back(next_event_, stream);
    ++next_event_;
  }

 private:
  TraceBuilder& trace_;
  const bool two_;
  std::mt19937_64 random_;
  std::int32_t next_event_ = 0;
  std::map<trace::TensorId, std::vector<std::pair<std::int32_t, std::int32_t>>> used_;  // events, their streams
};

// A chain with some skip connections, weights held from before, sizes of 1 to 64 MiB.
inline trace::Trace random_net(std::uint64_t seed, bool two_streams = false) {
  std::mt19937_64 random(seed);
  const auto up_to = [&](int most) {
    return static_cast<std::int64_t>(random() % static_cast<std::uint64_t>(most)) + 1;
  };
  const int layers = 4 + static_cast<int>(up_to(12));
  TraceBuilder t({});
  std::vector<trace::TensorId> weights, activations;
  std::vector<Bytes> sizes;  // these and durations: the same in all iterations
  std::vector<std::int64_t> durations;
  for (int l = 0; l < layers; ++l) sizes.push_back(Bytes{up_to(64) << 20});
  for (int k = 0; k < 2 * layers; ++k) durations.push_back(up_to(9'000'000));
  for (int l = 0; l < layers; ++l) weights.push_back(t.allocate(Bytes{up_to(16) << 20}, TensorKind::Param));
  for (int i = 0; i < 3; ++i) {
    StreamsOfNet net(t, two_streams, seed);
    activations.clear();
    t.iteration(i);
    t.phase("forward");
    for (int l = 0; l < layers; ++l) {
      activations.push_back(t.allocate(sizes[static_cast<std::size_t>(l)], TensorKind::Activation));
      std::vector<trace::Access> operands = {reads(weights[static_cast<std::size_t>(l)]), writes(activations.back())};
      if (l > 0) operands.push_back(reads(activations[static_cast<std::size_t>(l) - 1]));
      if (l > 3 && l % 3 == 0) operands.push_back(reads(activations[static_cast<std::size_t>(l) - 3]));
      net.kernel("forward", durations[static_cast<std::size_t>(l)], operands);
    }
    t.phase("backward");
    for (int l = layers; l-- > 0;) {
      net.kernel("backward", durations[static_cast<std::size_t>(layers + l)],
                 {reads(activations[static_cast<std::size_t>(l)]), updates(weights[static_cast<std::size_t>(l)])});
      t.free(activations[static_cast<std::size_t>(l)]);
    }
    if (two_streams) t.synchronize();
  }
  return t.take();
}

}  // namespace uvmsim
