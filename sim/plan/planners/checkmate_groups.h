// The forward pass of an iteration in groups of layers, as Checkmate's program sees it, and the plan that a schedule of
// them is.
#pragma once

#include <cstdint>
#include <set>
#include <vector>

#include "plan/planners/checkmate_model.h"
#include "plan/recomputation.h"

namespace uvmsim {

class CheckmateGroups {
 public:
  // At most `most` groups of layers, that make as many bytes each. Smaller results than `least` stay.
  CheckmateGroups(const Profile& profile, const Lineage& lineage, int most, Bytes least);

  bool empty() const { return groups_.empty(); }
  // With `pages` results may go to host memory, too.
  CheckmateProblem program(std::int64_t budget, bool pages) const;
  // Adds what the schedule moves and makes again. What comes back does so as early as `budget` bytes allow.
  void add_schedule(const CheckmateSchedule& schedule, std::int64_t budget, Plan& plan) const;

 private:
  // Results of one group of layers.
  struct Group {
    std::int32_t first = 0, outer = 0;     // kernels of the forward pass
    std::vector<std::size_t> intervals{};  // from the forward into the backward pass, of what they make
    std::vector<std::int32_t> kernels{};   // that make it again
    std::set<std::int32_t> tensors{};
  };

  void group(const std::vector<std::size_t>& intervals, std::size_t most);
  void split();
  std::vector<std::int32_t> kernels_of(const Group& g, const std::set<std::int32_t>& away) const;
  std::int32_t first_need(const Group& g) const;
  std::int32_t end(std::size_t stage) const;
  const GraphTensor& tensor(std::int32_t t) const { return graph_.tensors[static_cast<std::size_t>(t)]; }

  CheckmateProblem::Node node(std::size_t g) const;
  std::vector<std::int64_t> load_of_the_rest() const;
  CheckmateProblem::Stage stage(std::size_t s, const std::vector<std::int64_t>& rest) const;
  CheckmateProblem::Peak peak(const Group& during, const std::vector<std::int64_t>& rest) const;
  CheckmateProblem::Paging paging() const;

  const Interval* interval_into(std::int32_t tensor, std::int32_t from) const;
  void drop(const Group& group, std::int32_t from, Recomputation& r) const;
  void move(const Group& group, std::int32_t from, Recomputation& r, std::vector<Move>& moves) const;
  std::vector<Move> bring_back(std::vector<Move> moves, const Recomputation& r, std::int64_t budget) const;

  const Profile& profile_;
  const IterationGraph& graph_;
  const Lineage& lineage_;
  std::vector<Group> groups_;
  std::vector<std::int32_t> begins_;  // the first kernel of each stage of the backward pass: a group is needed first
};

}  // namespace uvmsim
