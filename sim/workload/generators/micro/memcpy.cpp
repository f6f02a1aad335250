#include "workload/generators/micro/micro.h"

namespace uvmsim::micro {
namespace {

struct Parameters {
  std::vector<std::int64_t> sizes = {64 << 20};
  std::string direction = "h2d";
  int streams = 1;
  int repeat = 1;
  bool pinned = true;
};

// Explicit copies between host memory and memory of cudaMalloc. With two directions and two streams the
// copies of one size run at the same time, each direction on its own stream.
class Memcpy final : public MicroGenerator<Parameters> {
 public:
  const Description& description() const override {
    static const Description d =
        Describe<Parameters>("explicit host-to-device and device-to-host copies")
            .integers("sizes", &Parameters::sizes, "bytes of each copy, one after the other", {1, {}})
            .text("direction", &Parameters::direction, "which way to copy", {"h2d", "d2h", "both"})
            .integer("streams", &Parameters::streams, "2: successive copies alternate between two streams", {1, 2})
            .integer("repeat", &Parameters::repeat, "times each size is copied in an iteration", {1, {}}, "copies")
            .flag("pinned", &Parameters::pinned, "host memory of cudaMallocHost, copied asynchronously")
            .build();
    return d;
  }

  std::vector<std::string> contradictions() const override {
    if (!p_.sizes.empty()) return {};
    return {"sizes is empty: there is nothing to copy"};
  }

  trace::Trace generate(int iterations) const override {
    TraceBuilder t = start("memcpy");
    std::vector<trace::TensorId> buffers;
    for (const std::int64_t size : p_.sizes)
      buffers.push_back(t.allocate(Bytes{size}, TensorKind::Other, static_cast<int>(trace::Space::Device)));
    for (int i = 0; i < iterations; ++i) {
      t.iteration(i);
      std::int32_t copies = 0;
      for (std::size_t s = 0; s < buffers.size(); ++s)
        for (int r = 0; r < p_.repeat; ++r) copy_once(t, buffers[s], p_.sizes[s], copies);
      t.synchronize();
    }
    return t.take();
  }

 private:
  void copy_once(TraceBuilder& t, trace::TensorId buffer, std::int64_t bytes, std::int32_t& copies) const {
    trace::Copy copy;
    copy.bytes = bytes;
    copy.pinned = copy.asynchronous = p_.pinned;
    if (p_.direction != "d2h") {
      copy.direction = trace::CopyDirection::HostToDevice;
      copy.stream = copies++ % p_.streams;
      t.copy(copy, {writes(buffer)});
    }
    if (p_.direction != "h2d") {
      copy.direction = trace::CopyDirection::DeviceToHost;
      copy.stream = copies++ % p_.streams;
      t.copy(copy, {reads(buffer)});
    }
  }
};

[[maybe_unused]] const bool kRegistered =
    add_plug_in<Generator, Memcpy>({.name = "memcpy",
                                    .summary = "explicit copies, one or both ways, on one or two streams",
                                    .source = "nvbandwidth, bandwidthTest"});

}  // namespace
}  // namespace uvmsim::micro
