#include <algorithm>
#include <cmath>

#include "base/number_text.h"
#include "report/view.h"

namespace uvmsim {
namespace {

// How many times as long as writing one the time between two is, for the last column: 1 %. Assumed. Rounding in the
// last digit makes no iteration more.
constexpr double kTimesAsLong = 100;

std::int64_t bytes_of(const IterationGraph& graph, std::string_view kind) {
  std::int64_t bytes = 0;
  for (std::int32_t t = 0; t < graph.shape.held; ++t)
    if (kind_of(graph, t) == kind) bytes += graph.tensors[static_cast<std::size_t>(t)].asked;
  return bytes;
}

class Checkpoints final : public View {
 public:
  ViewTable table(const ViewInput& input) const override {
    ViewTable table{.title =
                        "how long writing the model takes with nothing else on the link, and after how many iterations "
                        "a checkpoint costs 1 %",
                    .columns = {"what", "to", "bytes", "write_s", "iterations", "iterations_for_1_percent"},
                    .rows = {}};
    if (input.iterations.empty()) return table;
    const ObservedIteration& of = input.iterations.front();  // replicas of one model write it once
    const std::int64_t weights = bytes_of(of.graph(), "param"), state = bytes_of(of.graph(), "opt");
    std::vector<NodeLink> nodes = input.setting.nodes;
    if (nodes.empty()) nodes.push_back({.name = "host memory", .kind = "dram", .links = input.setting.links});
    for (const NodeLink& node : nodes) {
      add("weights", weights, node, of.profile.length, table);
      if (state > 0) add("weights and optimizer state", weights + state, node, of.profile.length, table);
    }
    table.finding = bytes_text(weights) + " of weights, " + bytes_text(state) + " of optimizer state";
    return table;
  }

 private:
  static void add(const std::string& what, std::int64_t bytes, const NodeLink& node, Duration iteration,
                  ViewTable& table) {
    const double write = seconds(node.links.out_time(bytes));
    const double iterations = iteration > Duration{} ? write / seconds(iteration) : 0;
    table.rows.push_back({what, node.name, bytes, write, iterations,
                          static_cast<std::int64_t>(std::ceil(iterations * kTimesAsLong * (1 - 1e-12)))});
  }
};

const bool kRegistered =
    add_plug_in<View, Checkpoints>({.name = "checkpoints",
                                    .summary = "how long a checkpoint takes, and after how many iterations it is cheap",
                                    .source = "bytes over the machine's rates"});

}  // namespace
}  // namespace uvmsim
