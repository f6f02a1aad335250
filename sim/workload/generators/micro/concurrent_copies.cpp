#include <algorithm>
#include <map>

#include "workload/generators/micro/micro.h"

namespace uvmsim::micro {
namespace {

struct Parameters {
  std::vector<std::int64_t> from = {kHost};
  std::vector<std::int64_t> to = {0};
  std::vector<std::int64_t> repeat = {4};
  Bytes size{std::int64_t{1} << 30};
};

// Explicit copies that start together, each on a stream of its own, between pinned host memory and memory of cudaMalloc
// of several GPUs. An iteration ends on a GPU with the first copy listed for it; copies with a larger `repeat` are the
// load along with it.
class ConcurrentCopies final : public MicroGenerator<Parameters> {
 public:
  const Description& description() const override {
    static const Description d =
        Describe<Parameters>("explicit copies of several GPUs at the same time")
            .integers("from", &Parameters::from, "where each copy reads: a GPU, or -1 for the host", {kHost, 63})
            .integers("to", &Parameters::to, "where each copy writes: a GPU, or -1 for the host", {kHost, 63})
            .integers("repeat", &Parameters::repeat,
                      "times each copy runs, one after the other; one number holds for all copies", {1, {}})
            .bytes("size", &Parameters::size, "of each copy", {1, {}})
            .build();
    return d;
  }

  std::vector<std::string> contradictions() const override {
    std::vector<std::string> found;
    if (p_.from.empty() || p_.from.size() != p_.to.size())
      found.emplace_back("from and to name the two ends of each copy: expected lists of one length, not empty");
    if (p_.repeat.size() != 1 && p_.repeat.size() != p_.from.size())
      found.emplace_back("repeat has neither one number nor one for each copy");
    for (std::size_t i = 0; i < std::min(p_.from.size(), p_.to.size()); ++i)
      if (p_.from[i] == p_.to[i]) found.push_back("copy " + std::to_string(i) + " ends where it starts");
    return found;
  }

  trace::Trace generate(int iterations) const override {
    TraceBuilder t = start("concurrent_copies");
    const std::int64_t gpus = 1 + std::max(std::ranges::max(p_.from), std::ranges::max(p_.to));
    t.header().devices.resize(static_cast<std::size_t>(std::max<std::int64_t>(gpus, 1)));
    const std::vector<trace::Copy> copies = list_copies();
    std::int64_t most = 0;
    for (std::size_t i = 0; i < copies.size(); ++i) most = std::max(most, times(i));
    for (int iteration = 0; iteration < iterations; ++iteration) {
      t.iteration(iteration);
      for (std::int64_t turn = 0; turn < most; ++turn)
        for (std::size_t i = 0; i < copies.size(); ++i)
          if (turn < times(i)) t.copy(copies[i], {});
    }
    return t.take();
  }

 private:
  std::int64_t times(std::size_t i) const { return p_.repeat.size() == 1 ? p_.repeat.front() : p_.repeat[i]; }

  std::vector<trace::Copy> list_copies() const {
    std::map<std::int64_t, std::int32_t> streams;  // of each GPU, taken so far
    std::vector<trace::Copy> copies;
    for (std::size_t i = 0; i < p_.from.size(); ++i) {
      const std::int64_t from = p_.from[i], to = p_.to[i];
      const std::int64_t gpu = from == kHost ? to : from;
      trace::Copy copy;
      copy.direction = from == kHost ? trace::CopyDirection::HostToDevice
                       : to == kHost ? trace::CopyDirection::DeviceToHost
                                     : trace::CopyDirection::PeerToPeer;
      copy.bytes = p_.size.value;
      copy.device = static_cast<std::int8_t>(gpu);
      copy.peer = static_cast<std::int8_t>(copy.direction == trace::CopyDirection::PeerToPeer ? to : -1);
      copy.stream = streams[gpu]++;
      copies.push_back(copy);
    }
    return copies;
  }
};

[[maybe_unused]] const bool kRegistered = add_plug_in<Generator, ConcurrentCopies>(
    {.name = "concurrent_copies",
     .summary = "explicit copies of several GPUs at the same time, to, from and between them",
     .source = "nvbandwidth, p2pBandwidthLatencyTest"});

}  // namespace
}  // namespace uvmsim::micro
