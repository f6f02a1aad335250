#include <algorithm>
#include <map>

#include "base/number_text.h"
#include "report/view.h"

namespace uvmsim {
namespace {

struct LayerShare {
  std::int64_t kernels = 0, made = 0, held = 0;
  Duration compute{};
};

// Tensors count for the layer that makes them; those that were there before for none.
class Layers final : public View {
 public:
  ViewTable table(const ViewInput& input) const override {
    std::map<std::string, LayerShare> layers;
    for (const ObservedIteration& of : input.iterations) add(of.graph(), layers);
    Duration compute{};
    std::int64_t held = 0;
    for (const auto& [name, of] : layers) compute += of.compute, held += of.held;
    ViewTable table{
        .title = "what each layer computes and makes; held: what of it the load's peak consists of",
        .columns = {"layer", "kernels", "compute_s", "compute_share", "made_bytes", "held_bytes", "held_share"},
        .rows = {}};
    const auto share = [](double part, double all) { return all > 0 ? part / all : 0; };
    for (const auto& [name, of] : layers)
      table.rows.push_back({name, of.kernels, seconds(of.compute), share(seconds(of.compute), seconds(compute)),
                            of.made, of.held, share(static_cast<double>(of.held), static_cast<double>(held))});
    std::ranges::stable_sort(table.rows, std::greater{},
                             [](const auto& row) { return std::get<std::int64_t>(row[5]); });
    if (table.rows.size() > 1)
      table.finding = "of " + bytes_text(held) + " at the peak " + percent_text(std::get<double>(table.rows[0][6])) +
                      " are of " + std::get<std::string>(table.rows[0][0]);
    return table;
  }

 private:
  static void add(const IterationGraph& graph, std::map<std::string, LayerShare>& layers) {
    for (const GraphKernel& kernel : graph.kernels) {
      LayerShare& of = layers[kernel.layer < 0 ? "(none)" : graph.strings[static_cast<std::size_t>(kernel.layer)]];
      ++of.kernels;
      of.compute += kernel.duration;
    }
    const auto peak = static_cast<std::int32_t>(std::ranges::max_element(graph.load) - graph.load.begin());
    for (std::int32_t t = 0; std::cmp_less(t, graph.tensors.size()); ++t) {
      const GraphTensor& tensor = graph.tensors[static_cast<std::size_t>(t)];
      const std::string layer = layer_of(graph, t);
      LayerShare& of = layers[t < graph.shape.held ? "(held before)" : layer.empty() ? "(none)" : layer];
      if (t >= graph.shape.held) of.made += tensor.bytes;
      if (tensor.first <= peak && peak < tensor.outer) of.held += tensor.bytes;
    }
  }
};

const bool kRegistered =
    add_plug_in<View, Layers>({.name = "layers",
                               .summary = "the share of each layer in compute time and in the memory at the peak",
                               .source = "Rhu et al., vDNN, MICRO 2016, section 3: per-layer memory"});

}  // namespace
}  // namespace uvmsim
