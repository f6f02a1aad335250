#include "base/scramble.h"
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
  explicit RandomChunk(const RandomOptions& options) : random_(static_cast<std::uint64_t>(options.seed)) {}

  RootChunkIndex victim(const EvictionView& view) override {
    const RootChunkIndex count = view.chunk_count();
    RootChunkIndex chunk = 0;
    for (int draw = 0; draw < 64; ++draw) {
      chunk = static_cast<RootChunkIndex>(random_.below(count));
      if (view.evictable(chunk)) return chunk;
    }
    while (!view.evictable(chunk)) chunk = (chunk + 1) % count;
    return chunk;
  }

 private:
  RandomNumbers random_;
};

const bool kRegistered =
    add_plug_in<EvictionPolicy, RandomChunk>({.name = "random",
                                              .summary = "evict any root chunk (seeded, repeatable)",
                                              .source = "a baseline; as in UVMSmart (Ganguly et al., ISCA 2019)",
                                              .on_hardware = "another nvidia-uvm: pick_root_chunk_to_evict"});

}  // namespace
}  // namespace uvmsim
