#include "engine/staged_copy.h"

#include <algorithm>
#include <array>

#include "engine/clock.h"

namespace uvmsim {
namespace {

constexpr std::int64_t kBuffers = 2;

// What the two halves share: the one that ends last frees it.
struct Staging {
  std::int64_t written = 0, fetched = 0;   // chunks
  std::array<Time, kBuffers> handed_over;  // buffer n is its next user's from then on
  WaitList full{"a staging buffer to be full"}, empty{"a staging buffer to be empty"};
};

}  // namespace

void staged_copy(GpuDevice& from, GpuDevice& to, Bytes size) {
  Fabric& fabric = from.services().fabric;
  const RuntimeCosts& runtime = from.services().machine.host.runtime;
  const std::int64_t chunk = runtime.staging_chunk.value;
  const std::int64_t chunks = (size.value + chunk - 1) / chunk;
  const auto bytes_of = [=](std::int64_t i) { return Bytes{std::min(chunk, size.value - i * chunk)}; };
  const auto move = [&fabric](const GpuDevice& gpu, const Route& route, Time& handed_over, Bytes bytes) {
    sleep_until(std::max(now(), handed_over) + gpu.spec().copy.method_latency);
    fabric.transfer(route, bytes);
  };

  const auto staging = std::make_shared<Staging>();
  scheduler().spawn("staging of gpu" + std::to_string(from.index().value), [=, &from, &fabric, &runtime] {
    for (std::int64_t i = 0; i < chunks; ++i) {
      while (i - staging->fetched >= kBuffers) staging->empty.wait();
      Time& handed_over = staging->handed_over[static_cast<std::size_t>(i % kBuffers)];
      move(from, fabric.bulk_from_gpu(from.index()), handed_over, bytes_of(i));
      handed_over = now() + runtime.staging_handover;
      ++staging->written;
      staging->full.notify_all();
    }
  });
  for (std::int64_t i = 0; i < chunks; ++i) {
    while (staging->written <= i) staging->full.wait();
    Time& handed_over = staging->handed_over[static_cast<std::size_t>(i % kBuffers)];
    move(to, fabric.bulk_to_gpu(to.index()), handed_over, bytes_of(i));
    handed_over = now() + runtime.staging_handover;
    ++staging->fetched;
    staging->empty.notify_all();
  }
  from.counts().memcpy_d2h_bytes += size.value;
  to.counts().memcpy_h2d_bytes += size.value;
}

}  // namespace uvmsim
