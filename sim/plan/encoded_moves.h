// A codec for what a planner moves, whoever the planner is.
#pragma once

#include <optional>
#include <string>

#include "plan/plan.h"

namespace uvmsim {

struct MoveCodec {
  std::string name{};                // a name from `uvmsim list codec`; "": what moves stays as it is
  double ratio = 0;                  // Move::ratio
  std::optional<double> sparsity{};  // of all tensors; nullopt: SparsityTable's
};

// Has moves that name no codec encoded by `codec`, where it takes the tensor and makes it smaller.
void encode_moves(const IterationGraph& graph, const MoveCodec& codec, Plan& plan);

}  // namespace uvmsim
