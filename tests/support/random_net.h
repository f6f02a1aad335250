// Random small networks, for planners.
#pragma once

#include <cstdint>
#include <random>
#include <vector>

#include "workload/trace_builder.h"

namespace uvmsim {

// A chain with some skip connections, weights held from before, sizes of 1 to 64 MiB.
inline trace::Trace random_net(std::uint64_t seed) {
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
    activations.clear();
    t.iteration(i);
    t.phase("forward");
    for (int l = 0; l < layers; ++l) {
      activations.push_back(t.allocate(sizes[static_cast<std::size_t>(l)], TensorKind::Activation));
      std::vector<trace::Access> operands = {reads(weights[static_cast<std::size_t>(l)]), writes(activations.back())};
      if (l > 0) operands.push_back(reads(activations[static_cast<std::size_t>(l) - 1]));
      if (l > 3 && l % 3 == 0) operands.push_back(reads(activations[static_cast<std::size_t>(l) - 3]));
      t.kernel("forward", {.duration_ns = durations[static_cast<std::size_t>(l)]}, operands);
    }
    t.phase("backward");
    for (int l = layers; l-- > 0;) {
      t.kernel("backward", {.duration_ns = durations[static_cast<std::size_t>(layers + l)]},
               {reads(activations[static_cast<std::size_t>(l)]), updates(weights[static_cast<std::size_t>(l)])});
      t.free(activations[static_cast<std::size_t>(l)]);
    }
  }
  return t.take();
}

}  // namespace uvmsim
