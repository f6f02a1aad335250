// Random collectives, sends and receives that every member issues in one order complete, and the same way every time.
#include <gtest/gtest.h>
#include <random>

#include "report/json.h"
#include "study/child_process.h"
#include "support/star.h"

namespace uvmsim {
namespace {

using namespace testing_support;
using trace::Collective;

// Each operation goes to all its members, one after the other: no one waits for what comes later, whatever streams they
// are on. Kernels and host steps of other threads put them out of step.
class RandomProgram {
 public:
  explicit RandomProgram(std::uint64_t seed) : random_(seed), gpus_(up_to(6) + 2), program_(one_iteration()) {
    for (int c = 0; c < 4; ++c) {
      std::vector<int> members;
      for (int g = 0; g < gpus_; ++g)
        if (up_to(2) > 0) members.push_back(g);
      if (!members.empty()) communicators_.push_back(members);
    }
  }

  Program make() {
    for (int i = 0; i < 60; ++i) {
      const int choice = up_to(5);
      if (choice == 0) program_.ops.push_back(kernel(up_to(gpus_ - 1), up_to(20) / 10.0, up_to(2)));
      if (choice == 1) program_.ops.push_back(host_step());
      if (choice == 2 || choice == 3) add_pair();
      if (choice > 3) add_collective();
    }
    return program_;
  }
  int gpus() const { return gpus_; }

 private:
  int up_to(int most) { return static_cast<int>(random_() % static_cast<std::uint64_t>(most + 1)); }

  op::HostStep host_step() {
    const int thread = up_to(3);
    return {.duration = microseconds(up_to(500)),
            .operands = {},
            .thread = thread,
            .join = thread == 3 ? 0 : thread + 1,
            .left = up_to(2)};
  }

  void add_pair() {
    const int from = up_to(gpus_ - 1), to = (from + 1 + up_to(gpus_ - 2)) % gpus_;
    const std::int64_t bytes = up_to(20'000'000);
    program_.ops.push_back(send(from, to, bytes, up_to(2)));
    program_.ops.push_back(receive(to, from, bytes, up_to(2)));
  }

  void add_collective() {
    if (communicators_.empty()) return;
    const int c = up_to(static_cast<int>(communicators_.size()) - 1);
    const auto kind = static_cast<Collective>(up_to(4));
    const std::int64_t bytes = up_to(20'000'000);
    for (const int g : communicators_[static_cast<std::size_t>(c)])
      program_.ops.push_back(collective(kind, g, bytes, c, up_to(2)));
  }

  std::mt19937_64 random_;
  const int gpus_;
  std::vector<std::vector<int>> communicators_;
  Program program_;
};

std::string run_seed(std::uint64_t seed) {
  ChildProcess child([seed] {
    RandomProgram random(seed);
    const Program program = random.make();
    return to_json(run_on(star(random.gpus()), program));
  });
  return child.wait();
}

TEST(CollectivesProperty, RandomProgramsCompleteAndRepeat) {
  for (std::uint64_t seed = 1; seed <= 60; ++seed) {
    const std::string first = run_seed(seed);
    const auto result = result_from_json(first);
    ASSERT_TRUE(result.has_value()) << "seed " << seed;
    EXPECT_EQ(result->outcome, Outcome::Completed) << "seed " << seed << ": " << result->detail;
    EXPECT_EQ(run_seed(seed), first) << "seed " << seed;
  }
}

}  // namespace
}  // namespace uvmsim
