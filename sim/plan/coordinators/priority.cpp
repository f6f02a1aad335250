#include <algorithm>
#include <tuple>

#include "plan/coordinator.h"

namespace uvmsim {
namespace {

// Each direction of a shared link serves few copies at a time, the most urgent first: those that a program waits for
// already, then those whose data is needed after the fewest kernels. A copy that has started is not interrupted.
class Priority final : public Coordinator {
 public:
  struct Options {
    int at_once = 1;

    static const Description& description() {
      static const Description d =
          Describe<Options>("the most urgent copy first")
              .integer("at_once", &Options::at_once, "copies that share a link in one direction", {1, 1024}, "copies")
              .build();
      return d;
    }
  };
  static constexpr bool kTakesTurns = false;

  Priority(const Options& options, std::vector<SharedLink> links) : options_(options), links_(std::move(links)) {}

  Time admit(const SwapCopy& copy, std::span<const SwapCopy> waiting, std::span<const SwapCopy> under_way,
             Time now) const override {
    const SharedLink* link = group_of(links_, copy.gpu);
    if (link == nullptr) return now;
    const auto competes = [&](const SwapCopy& c) { return c.out == copy.out && group_of(links_, c.gpu) == link; };
    const auto rank = [](const SwapCopy& c) { return std::tuple(!c.awaited, c.until_use, c.number); };
    const std::ptrdiff_t before =
        std::ranges::count_if(under_way, competes) +
        std::ranges::count_if(waiting, [&](const SwapCopy& c) { return competes(c) && rank(c) < rank(copy); });
    return before < options_.at_once ? now : kNever;
  }

 private:
  const Options options_;
  const std::vector<SharedLink> links_;
};

const bool kRegistered = add_plug_in<Coordinator, Priority>(
    {.name = "priority",
     .summary = "a shared link serves the most urgent copy first",
     .source =
         "earliest deadline first; Jayarajan et al., Priority-based Parameter Propagation, MLSys 2019, for gradients"});

}  // namespace
}  // namespace uvmsim
