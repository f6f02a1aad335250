#include "base/seed.h"
#include "uvm/eviction/eviction_policy.h"

namespace uvmsim {
namespace {

struct RandomOptions {
  std::int64_t seed = kSeed;
  static const Description& description() {
    static const Description d =
        Describe<RandomOptions>("random: any chunk")
            .integer("seed", &RandomOptions::seed, "where the stream of random numbers starts", {0, {}})
            .build();
    return d;
  }
};

// Any chunk, from a stream of numbers with a fixed seed. Draws until it hits an evictable chunk; after 64
// misses it takes the next evictable one, so the choice stays cheap when hardly anything is evictable.
class RandomChunk final : public EvictionPolicy {
 public:
  using Options = RandomOptions;
  explicit RandomChunk(const RandomOptions& options) : state_(static_cast<std::uint64_t>(options.seed)) {}

  RootChunkIndex victim(const EvictionView& view) override {
    const RootChunkIndex count = view.chunk_count();
    RootChunkIndex chunk = 0;
    for (int draw = 0; draw < 64; ++draw) {
      chunk = static_cast<RootChunkIndex>(next_random() % count);
      if (view.evictable(chunk)) return chunk;
    }
    while (!view.evictable(chunk)) chunk = (chunk + 1) % count;
    return chunk;
  }

 private:
  // SplitMix64 (Steele, Lea, Flood, OOPSLA 2014).
  std::uint64_t next_random() {
    std::uint64_t z = state_ += 0x9e3779b97f4a7c15;
    z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9;
    z = (z ^ z >> 27) * 0x94d049bb133111eb;
    return z ^ z >> 31;
  }

  std::uint64_t state_;
};

const bool kRegistered =
    add_plug_in<EvictionPolicy, RandomChunk>({.name = "random",
                                              .summary = "evict any root chunk (seeded, repeatable)",
                                              .source = "a baseline; as in UVMSmart (Ganguly et al., ISCA 2019)",
                                              .on_hardware = "another nvidia-uvm: pick_root_chunk_to_evict"});

}  // namespace
}  // namespace uvmsim
