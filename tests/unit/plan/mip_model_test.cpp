// What planners say about how a solver ended.
#include "plan/mip_model.h"

#include <gtest/gtest.h>

namespace uvmsim {
namespace {

using Status = MipSolution::Status;

TEST(MipSolution, SaysHowFarItIsFromTheBoundAndWhatStoppedIt) {
  EXPECT_EQ(text_of({.status = Status::Optimal, .objective = 200, .bound = 200}), "optimal");
  EXPECT_EQ(text_of({.status = Status::Optimal, .objective = 200, .bound = 199}), "within 0.5 % of the optimum");
  EXPECT_EQ(text_of({.status = Status::Feasible, .objective = 200, .bound = 150}),
            "within 25 % of the optimum, stopped by the limit of nodes");
  EXPECT_EQ(text_of({.status = Status::Feasible, .out_of_time = true, .objective = 200, .bound = 150}),
            "within 25 % of the optimum, stopped by the time limit, so that it depends on the machine's speed");
}

TEST(MipSolution, SaysWhyThereIsNone) {
  EXPECT_EQ(text_of({.status = Status::Infeasible}), "the program is infeasible");
  EXPECT_EQ(text_of({.status = Status::None}), "the solver found nothing within its limits");
  EXPECT_EQ(text_of({.status = Status::Failed, .trouble = "cbc wrote no solution, ended by signal 6"}),
            "the solver failed: cbc wrote no solution, ended by signal 6");
}

}  // namespace
}  // namespace uvmsim
