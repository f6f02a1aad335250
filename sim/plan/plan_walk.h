// One tensor memory, walked in the order of issue without time: what plan_checker.h proves plans by.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "plan/iteration_graph.h"
#include "plan/plan.h"
#include "plan/plan_checker.h"

namespace uvmsim {

// Where a tensor is and what is in it. Versions count writes: `version` is what is there, `newest` what the program has
// come to.
struct WalkedTensor {
  enum class Where : std::uint8_t { Nowhere, Resident, Elsewhere, Dropped, Encoded };
  Where where = Where::Nowhere;
  std::int64_t version = 0, newest = 0;
  bool lost = false;
  bool copied_in_use = false;       // the copy is made while its last user reads it
  bool clean = false;               // a copy is elsewhere, too
  bool keep = false;                // that copy outlives the tensor's return
  std::int32_t blamed = -1;         // action that gave up its contents
  std::string node{}, codec{};      // where and how it is held elsewhere
  std::int64_t held_elsewhere = 0;  // bytes
  std::int64_t encoded = 0;         // bytes of the GPU, while Encoded
  std::int64_t staged = 0;          // the same of what came and is decoded by a kernel before its next use
};

class PlanWalk {
 public:
  // `report(action, message)`: -1: the plan as a whole.
  using Report = std::function<void(std::int32_t action, std::string message)>;
  PlanWalk(const IterationGraph& graph, const Plan& plan, const PlanLimits& limits, Report report);

  // Walks one iteration; the first begins with all that is held on the GPU.
  void run();
  // Takes over what the iteration leaves to the next one; false: the next one has another shape.
  bool go_on();
  // Of the iteration walked last.
  std::int64_t peak() const { return peak_; }
  const std::map<std::string, std::int64_t>& node_peaks() const { return node_peaks_; }

 private:
  struct Step {  // what an action does at a place
    enum class Kind : std::uint8_t { Out, KeepOut, CopyOut, Drop, Encode, HostCompute, In, Decode, Segment };
    Kind kind = Kind::Out;
    std::int32_t tensor = -1;
    std::int32_t action = -1;
  };
  void sort_into_places();
  void find_places_before();
  // `settles`: moves in that found no room try again, whether or not the plan moves anything there.
  void at_place(std::size_t place, bool settles);
  void perform(const Step& step);
  void drop(std::int32_t tensor, std::int32_t action);
  void segment(const Recompute& recompute, std::int32_t action);
  void host_compute(const HostCompute& compute, std::int32_t action);
  void allocate(std::int32_t tensor);
  void free(std::int32_t tensor);
  void operate(std::span<const TensorUse> uses, std::int32_t kernel);
  void bring_in(std::span<const TensorUse> uses, std::int32_t kernel);
  // Bytes that kernel `kernel` works in beyond its operands, under the plan.
  std::int64_t workspace(std::int32_t kernel) const;
  void use(const TensorUse& use, std::int32_t kernel);
  void use_again(const TensorUse& use, std::int32_t kernel, std::int32_t action);
  void move_out(WalkedTensor& t, std::int32_t tensor, const Move& move, bool release, std::int32_t action);
  void encode(WalkedTensor& t, std::int32_t tensor, const Encode& encode);
  void decode(WalkedTensor& t, std::int32_t tensor);
  void move_in(WalkedTensor& t, std::int32_t tensor);
  void come_back(WalkedTensor& t, std::int32_t tensor);  // to the GPU
  // Bytes of the GPU that hold it encoded on its way out of it or into it: those of codecs that are kernels.
  std::int64_t staging(const WalkedTensor& t) const;
  bool fits(std::int64_t bytes) const { return held_ + bytes <= limits_.device; }
  void take(std::int64_t bytes, const std::string& for_what);
  void release_elsewhere(WalkedTensor& t);
  void forget_copy(WalkedTensor& t);
  void retry_deferred();

  WalkedTensor& at(std::int32_t tensor) { return tensors_[static_cast<std::size_t>(tensor)]; }
  std::int64_t bytes_of(std::int32_t tensor) const { return graph_.tensors[static_cast<std::size_t>(tensor)].bytes; }
  std::string kernel_text(std::int32_t kernel) const;
  const std::string& node_of(const Move& move) const { return move.to.empty() ? limits_.nearest : move.to; }
  bool counts_every_byte() const { return plan_.reclaim == "none"; }

  const IterationGraph& graph_;
  const Plan& plan_;
  const PlanLimits& limits_;
  Report report_;
  std::map<std::size_t, std::vector<Step>> places_;  // 2 k: before kernel k, 2 k + 1: after it
  std::vector<std::int32_t> before_;                 // by step: the kernel before which the walk is there; -1: none
  const std::set<std::int32_t> on_host_;             // kernels whose work the CPU does
  const std::set<std::int32_t> never_here_;          // tensors that they alone use
  std::map<std::int32_t, std::int64_t> workspaces_;  // by kernel: bytes, of the variants that the plan gives them
  std::vector<WalkedTensor> tensors_;
  std::vector<std::int32_t> deferred_;  // tensors to move in, which found no room
  // By kernel that has run: the versions of its operands, in the order of its uses.
  std::vector<std::vector<std::int64_t>> found_;
  std::int64_t held_ = 0, peak_ = 0;
  std::map<std::string, std::int64_t> nodes_, node_peaks_;
  bool over_ = false;  // memory was exceeded: said once
};

}  // namespace uvmsim
