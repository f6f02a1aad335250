#include <algorithm>
#include <map>

#include "base/number_text.h"
#include "plan/codec.h"
#include "plan/feature_maps.h"
#include "plan/planner.h"
#include "plan/sparsity.h"
#include "plan/swap_schedule.h"

namespace uvmsim {
namespace {

struct GistOptions {
  std::string precision = "fp16";
  Bytes min_bytes{};

  static const Description& description() {
    using O = GistOptions;
    static const Description d =
        Describe<O>("feature maps encoded in GPU memory, by pairs of layers")
            .text("precision", &O::precision,
                  "of what neither binarize nor ssdc makes smaller, by delayed precision reduction; fp32: it stays as "
                  "it is, and all is lossless",
                  {"fp32", "fp16", "fp10", "fp8"})
            .bytes("min_bytes", &O::min_bytes, "smaller feature maps stay")
            .build();
    return d;
  }
};

// What the forward pass makes and reads, and the backward pass reads again, stays on the GPU, encoded from its last use
// in the one to its first in the other, where a kernel decodes it. Outputs of ReLU that poolings read: their signs,
// where the backward pass has only poolings and pointwise kernels for them. Outputs of ReLU that convolutions read:
// SSDC, where they are sparse enough. All others, and those that are not: fewer bits, by DPR. Indexes that a pooling
// keeps for its backward pass: 4 bits each. Masks and statistics, which the forward pass does not read again, stay.
class GistLike final : public With<Planner, GistOptions> {
 public:
  std::vector<Plan> plan(std::span<const Profile> gpus, PlanServices&) const override {
    return plan_each(gpus, [&](const Profile& profile) { return plan_of(profile); });
  }

 private:
  Plan plan_of(const Profile& profile) const {
    Plan plan = empty_plan(profile, "gist_like");
    const SparsityTable zeros(*profile.graph, profile.sparsity);
    std::map<std::string, std::int64_t> maps;          // by codec
    std::vector<std::int64_t> room = profile.floor();  // for what stays encoded, besides what a kernel needs
    for (std::int64_t& at : room) at = profile.budget.value - at;
    std::int64_t bytes = 0, encoded = 0;
    for (const std::size_t n : feature_maps(profile, options_.min_bytes)) {
      const Interval& i = profile.intervals[n];
      const CodecTensor tensor{.kind = kind_of(*profile.graph, i.tensor),
                               .bytes = Bytes{i.bytes},
                               .sparsity = zeros.after(i.last_use, i.tensor)};
      const std::string codec = codec_for(*profile.graph, zeros, i, tensor);
      if (codec.empty()) continue;
      const std::int64_t size = encoded_bytes(codec, tensor);
      if (!take_room(room, i, size)) continue;
      ++maps[codec];
      bytes += i.bytes;
      encoded += size;
      plan.actions.push_back(Encode{.of = of_interval(i),
                                    .out = {Trigger::On::AfterKernel, i.last_use},
                                    .codec = codec,
                                    .sparsity = tensor.sparsity});
    }
    for (const auto& [codec, count] : maps) plan.why += std::to_string(count) + " by " + codec + ", ";
    plan.why += bytes_text(bytes) + " as " + bytes_text(encoded);
    prove(profile, plan);
    return plan;
  }

  // Takes `size` bytes of the room of all kernels while the map waits, if there are so many: what is encoded is not
  // reclaimed on demand, what is not can be.
  static bool take_room(std::vector<std::int64_t>& room, const Interval& i, std::int64_t size) {
    const auto first = room.begin() + i.last_use, outer = room.begin() + i.next_use + 1;
    if (std::any_of(first, outer, [&](std::int64_t at) { return at < size; })) return false;
    std::for_each(first, outer, [&](std::int64_t& at) { at -= size; });
    return true;
  }

  // "": the map stays as it is.
  std::string codec_for(const IterationGraph& graph, const SparsityTable& zeros, const Interval& i,
                        const CodecTensor& tensor) const {
    for (const std::string& codec : choices(graph, zeros, i))
      if (codecs().find(codec)->make()->allows(tensor) && encoded_bytes(codec, tensor) < tensor.bytes.value)
        return codec;
    return "";
  }

  // What goes with the layers that use the map, the best first.
  std::vector<std::string> choices(const IterationGraph& graph, const SparsityTable& zeros, const Interval& i) const {
    const GraphTensor& map = graph.tensors[static_cast<std::size_t>(i.tensor)];
    const auto is = [&](std::int32_t kernel, KernelClass kind) {
      return graph.kernels[static_cast<std::size_t>(kernel)].kind == kind;
    };
    const auto written = std::ranges::upper_bound(map.writers, i.last_use);
    const std::int32_t writer = written == map.writers.begin() ? -1 : *(written - 1);
    const auto readers = std::ranges::upper_bound(map.uses, writer),
               backward = std::ranges::lower_bound(map.uses, i.next_use);
    const bool pooled_back =
        std::all_of(backward, map.uses.end(), [&](std::int32_t k) { return is(k, KernelClass::Pooling); });
    if (readers == backward) {  // it is no layer's input
      if (writer >= 0 && is(writer, KernelClass::Pooling) && pooled_back) return {"pool_index"};
      return {};
    }
    std::vector<std::string> found;
    if (zeros.relu_before(i.last_use, i.tensor) >= 0) {
      const bool pooled = std::all_of(readers, backward, [&](std::int32_t k) { return is(k, KernelClass::Pooling); });
      const bool signs = std::all_of(backward, map.uses.end(), [&](std::int32_t k) {
        return is(k, KernelClass::Pooling) || is(k, KernelClass::Pointwise);
      });
      if (pooled && signs) found.emplace_back("binarize");
      if (std::any_of(readers, backward, [&](std::int32_t k) { return is(k, KernelClass::Convolution); }))
        found.emplace_back("ssdc");
    }
    if (options_.precision != "fp32") found.push_back("dpr_" + options_.precision);
    return found;
  }
};

const bool kRegistered = add_plug_in<Planner, GistLike>(
    {.name = "gist_like",
     .summary = "feature maps wait for the backward pass encoded: signs, sparse rows or fewer bits, by pairs of layers",
     .source = "Jain et al., Gist: Efficient Data Encoding for Deep Neural Network Training, ISCA 2018, sections 3 and "
               "4; sparsity by sim/plan/sparsity.h",
     .on_hardware = "a framework whose layers encode and decode what they save"});

}  // namespace
}  // namespace uvmsim
