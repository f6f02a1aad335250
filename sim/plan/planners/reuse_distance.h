// The choice that the tmo_like planners share: which intervals to swap, from the largest reuse distance on.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "plan/planner.h"

namespace uvmsim {

// What planners of copies at given kernels take on hardware, whose own code nobody has.
inline constexpr const char* kReplaysCopies =
    "a framework that copies tensors when `run --plan-out`'s file says so, and pinned host memory";

struct ReuseDistanceOptions {
  std::string metric = "ops";  // ops, time or bytes
  std::string order = "distance";
  std::string scope = "forward_backward";
  Bytes min_bytes{1 << 20};
  double budget = 0.95;  // share of device memory
  int prefetch_ops = 0;  // 0: as late as the link allows
  bool skip_useless = true;

  static const Description& description();
};

// Candidates, by index into Profile::intervals, in the order in which they are taken.
std::vector<std::size_t> candidates(const Profile& profile, const ReuseDistanceOptions& options);

// `order` with the candidates first that GPU number `gpu` of `gpus` gets when they are dealt out, then the others'.
std::vector<std::size_t> own_first(const std::vector<std::size_t>& order, std::size_t gpu, std::size_t gpus);

// Of each GPU the candidates that it may swap so that no two GPUs swap the same one: its own, and where they do not
// relieve it those that nobody takes. They may not suffice.
std::vector<std::vector<std::size_t>> disjoint_orders(std::span<const Profile> gpus,
                                                      const ReuseDistanceOptions& options);

// "12 ms an iteration with disjoint sets, 10 ms with tmo_like_online's".
std::string with_and_without(Duration with, Duration without);

// Adds to what each plan says of itself how many of the intervals that it moves other plans move as well.
void say_what_is_common(std::span<Plan> plans);

// Takes candidates in this order until the load fits into `budget` bytes or they are exhausted.
std::vector<std::size_t> choose(const Profile& profile, const std::vector<std::size_t>& order, std::int64_t budget,
                                bool skip_useless);

// The plan of the online heuristic for one GPU, whose candidates come in `order`.
Plan reuse_distance_plan(const Profile& profile, const std::vector<std::size_t>& order,
                         const ReuseDistanceOptions& options, const std::string& planner);

}  // namespace uvmsim
