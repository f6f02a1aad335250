// Kernels that read one word of each of some places: what a fault costs by itself, and beside others of its batch.
#pragma once

#include <cstddef>

namespace microbench {

// Each after the one before. The compiler must not know `stride`, or it finds out that nothing is ever written.
__global__ void touch_in_turn(const unsigned* data, std::size_t stride, int count, unsigned* sink) {
  std::size_t next = 0;
  for (int i = 0; i < count; ++i) next = (i + 1) * stride + (data[next] == 7 ? 1 : 0);
  if (next == 1) *sink = 1;
}

// A thread for each.
__global__ void touch_at_once(const unsigned* data, std::size_t stride, unsigned* sink) {
  if (data[threadIdx.x * stride] == 7) *sink = 1;
}

// `count` places of `data`, `stride` words apart, by one thread in turn or by a warp.
inline void touch_places(const unsigned* data, std::size_t stride, int count, bool at_once, unsigned* sink) {
  if (at_once)
    touch_at_once<<<1, count>>>(data, stride, sink);
  else
    touch_in_turn<<<1, 1>>>(data, stride, count, sink);
}

}  // namespace microbench
