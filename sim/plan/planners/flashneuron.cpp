#include <algorithm>
#include <set>

#include "base/number_text.h"
#include "plan/codec.h"
#include "plan/feature_maps.h"
#include "plan/planner.h"
#include "plan/sparsity.h"
#include "plan/swap_schedule.h"

namespace uvmsim {
namespace {

struct FlashNeuronOptions {
  std::string tier = "ssd";
  bool compress = true;
  double budget = 0.95;
  Bytes min_bytes{1 << 20};

  static const Description& description() {
    using O = FlashNeuronOptions;
    static const Description d =
        Describe<O>("activations to storage, in the order of the forward pass")
            .text("tier", &O::tier, "kind of memory node to which tensors go; several nodes of a kind take turns",
                  {"ssd", "dram", "nvm", "cxl"})
            .flag("compress", &O::compress, "take outputs of ReLU first, encoded, when copies do not hide")
            .number("budget", &O::budget, "share of device memory to fit into (assumed)", {0, 1})
            .bytes("min_bytes", &O::min_bytes, "smaller tensors stay (assumed)")
            .build();
    return d;
  }
};

// Activations go to SSDs, straight from the GPU. First the linear selection: in the order of the forward pass, until
// the bytes of those left, all at once, fit next to the most that all else takes (SNU-ARC/flashneuron,
// saved_variable.cpp: offloading_scheduler; it takes the rest of memory to be 0.6 of what is free, here it is counted).
// Where their copies take longer than the forward pass, or than the backward pass on their way back, compressible
// tensors are taken first, the largest before the others, until all copies hide or there are no more. In the backward
// pass tensors come back in reverse order, each as early as memory allows.
//
// On hardware: GPUDirect Storage, and a runtime that knows the layers ahead.
class FlashNeuron final : public With<Planner, FlashNeuronOptions> {
 public:
  std::vector<Plan> plan(std::span<const Profile> gpus, PlanServices&) const override {
    return plan_each(gpus, [&](const Profile& profile) { return plan_of(profile, gpus.size()); });
  }

 private:
  struct Selection {
    std::vector<std::size_t> taken{};
    LoadCurve curve;
  };

  std::int64_t limit(const Profile& profile) const {
    return static_cast<std::int64_t>(options_.budget * static_cast<double>(profile.budget.value));
  }

  // Idle from the forward to the backward pass, in the order of their last uses there.
  std::vector<std::size_t> linear(const Profile& profile) const {
    std::vector<std::size_t> order = feature_maps(profile, options_.min_bytes);
    std::erase_if(order, [&](std::size_t n) {  // no kernel runs meanwhile
      return profile.intervals[n].next_use <= profile.intervals[n].last_use + 1;
    });
    return order;
  }

  // What is left for activations that stay next to the most that all else takes.
  std::int64_t room(const Profile& profile, const std::vector<std::size_t>& order) const {
    LoadCurve others(profile.graph->load);
    for (const std::size_t n : order) free(profile.intervals[n], others);
    return limit(profile) - others.most();
  }
  static void free(const Interval& i, LoadCurve& curve) { curve.free_between(i.last_use, i.next_use, i.bytes); }

  // What a ReLU of the forward pass wrote.
  static bool compressible(const Profile& profile, const SparsityTable& zeros, const Interval& i) {
    return zeros.relu_before(i.last_use, i.tensor) >= 0 &&
           may_be_activation({.kind = kind_of(*profile.graph, i.tensor)});
  }

  // What copies of the intervals take, by interval.
  using CopySizes = std::vector<std::int64_t>;
  static CopySizes plain_sizes(const Profile& profile) {
    CopySizes sizes;
    for (const Interval& i : profile.intervals) sizes.push_back(i.bytes);
    return sizes;
  }
  static CopySizes encoded_sizes(const Profile& profile, const SparsityTable& zeros) {
    CopySizes sizes = plain_sizes(profile);
    for (std::size_t n = 0; n < sizes.size(); ++n) {
      const Interval& i = profile.intervals[n];
      if (compressible(profile, zeros, i))
        sizes[n] = encoded_bytes("csr_fp16", {.bytes = Bytes{i.bytes}, .sparsity = zeros.after(i.last_use, i.tensor)});
    }
    return sizes;
  }

  // The first `first` compressible tensors, then the linear order.
  Selection select(const Profile& profile, const std::vector<std::size_t>& order,
                   const std::vector<std::size_t>& compressibles, std::size_t first) const {
    std::vector<std::size_t> all(compressibles.begin(), compressibles.begin() + static_cast<std::ptrdiff_t>(first));
    const std::set<std::size_t> in_front(all.begin(), all.end());
    std::ranges::copy_if(order, std::back_inserter(all), [&](std::size_t n) { return !in_front.contains(n); });
    Selection s{.curve = LoadCurve(profile.graph->load)};
    if (s.curve.most() <= limit(profile)) return s;
    std::int64_t left = -room(profile, order);
    for (const std::size_t n : order) left += profile.intervals[n].bytes;
    for (const std::size_t n : all) {
      if (left <= 0) break;
      left -= profile.intervals[n].bytes;
      free(profile.intervals[n], s.curve);
      s.taken.push_back(n);
    }
    return s;
  }

  static bool hides(const Profile& profile, const LinkModel& link, const std::vector<std::size_t>& taken,
                    const CopySizes& sizes, std::int32_t backward) {
    Duration out{}, in{};
    for (const std::size_t n : taken) {
      out += link.out_time(sizes[n]);
      in += link.in_time(sizes[n]);
    }
    const Duration forward = profile.starts.reached(backward) - Time{};
    return out <= forward && in <= profile.length - forward;
  }

  Plan plan_of(const Profile& profile, std::size_t gpus) const {
    Plan plan = empty_plan(profile, "flashneuron");
    std::vector<const NodeLink*> nodes;
    for (const NodeLink& node : profile.nodes)
      if (node.kind == options_.tier) nodes.push_back(&node);
    const std::int32_t backward = profile.graph->first_kernel_of("backward");
    if (nodes.empty() || backward <= 0) {
      plan.why = nodes.empty() ? "the machine has no memory node of kind " + options_.tier
                               : "the iteration has no phase \"backward\" after others";
      conclude(profile, gpus, plan);
      return plan;
    }
    const std::vector<std::size_t> order = linear(profile);
    const SparsityTable zeros(*profile.graph, profile.sparsity);
    std::vector<std::size_t> compressibles;
    std::ranges::copy_if(order, std::back_inserter(compressibles),
                         [&](std::size_t n) { return compressible(profile, zeros, profile.intervals[n]); });
    std::ranges::stable_sort(compressibles, std::greater<>{},
                             [&](std::size_t n) { return profile.intervals[n].bytes; });
    Selection chosen = select(profile, order, {}, 0);
    CopySizes sizes = plain_sizes(profile);
    if (options_.compress && !compressibles.empty() &&
        !hides(profile, nodes[0]->links, chosen.taken, sizes, backward)) {
      sizes = encoded_sizes(profile, zeros);
      chosen = compressed(profile, nodes[0]->links, order, compressibles, sizes, backward);
    }
    place(profile, nodes, sizes, zeros, backward, std::move(chosen), plan);
    conclude(profile, gpus, plan);
    return plan;
  }

  // With the fewest compressible tensors in front with which copies hide; all of them when none does.
  Selection compressed(const Profile& profile, const LinkModel& link, const std::vector<std::size_t>& order,
                       const std::vector<std::size_t>& compressibles, const CopySizes& sizes,
                       std::int32_t backward) const {
    std::size_t fewest = 0, most = compressibles.size();
    while (fewest < most) {
      const std::size_t middle = fewest + (most - fewest) / 2;
      const Selection s = select(profile, order, compressibles, middle);
      if (hides(profile, link, s.taken, sizes, backward))
        most = middle;
      else
        fewest = middle + 1;
    }
    return select(profile, order, compressibles, fewest);
  }

  void place(const Profile& profile, const std::vector<const NodeLink*>& nodes, const CopySizes& sizes,
             const SparsityTable& zeros, std::int32_t backward, Selection chosen, Plan& plan) const {
    std::int64_t bytes = 0, copies = 0;
    std::ranges::stable_sort(chosen.taken, {}, [&](std::size_t n) { return profile.intervals[n].next_use; });
    for (const std::size_t n : chosen.taken) {
      const Interval& i = profile.intervals[n];
      const std::int32_t back = bring_back(i, backward, limit(profile), chosen.curve);
      Move move{.of = of_interval(i),
                .to = nodes[plan.actions.size() % nodes.size()]->name,
                .out = {{Trigger::On::AfterKernel, i.last_use}},
                .in = {{Trigger::On::BeforeKernel, back}}};
      if (sizes[n] != i.bytes) move.codec = "csr_fp16", move.sparsity = zeros.after(i.last_use, i.tensor);
      bytes += i.bytes;
      copies += sizes[n];
      plan.actions.emplace_back(std::move(move));
    }
    plan.why = std::to_string(plan.actions.size()) + " activations, " + bytes_text(bytes) + ", copied as " +
               bytes_text(copies);
  }
};

const bool kRegistered = add_plug_in<Planner, FlashNeuron>(
    {.name = "flashneuron",
     .summary = "move activations to SSDs in the order of the forward pass, compressible ones first when copies cannot "
                "be hidden",
     .source = "Bae et al., FlashNeuron: SSD-Enabled Large-Batch Training of Very Deep Neural Networks, FAST 2021, "
               "section 4; SNU-ARC/flashneuron",
     .on_hardware =
         "SSDs that the GPU copies to directly, and a framework's memory manager (the paper: PyTorch, SPDK, GDRCopy)"});

}  // namespace
}  // namespace uvmsim
