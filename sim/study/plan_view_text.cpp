#include <algorithm>
#include <nlohmann/json.hpp>

#include "base/number_text.h"
#include "plan/plan_choices.h"
#include "report/table.h"
#include "study/plan_view.h"

namespace uvmsim {
namespace {

using Json = nlohmann::ordered_json;

// A bar of `width` characters: what stays at least, what the plan leaves, what there is without it.
std::string bar(const LoadView& l, std::int64_t most, bool planned) {
  constexpr std::int64_t kWidth = 40;
  const auto cells = [&](std::int64_t b) {
    return static_cast<std::size_t>(std::clamp<std::int64_t>(b * kWidth / std::max<std::int64_t>(most, 1), 0, kWidth));
  };
  std::string text(cells(l.load), planned ? '.' : '#');
  if (planned) text.replace(0, cells(l.planned), cells(l.planned), '#');
  return text;
}

std::string load_text(const PlanView& view) {
  std::vector<std::vector<std::string>> rows = {{"kernels", "phase", "load", "floor"}};
  if (view.plan) rows.front().push_back("planned");
  std::size_t phase = 5;
  for (const LoadView& l : view.load) phase = std::max(phase, l.phase.size());
  for (const LoadView& l : view.load) {
    rows.push_back({std::to_string(l.first) + " .. " + std::to_string(l.outer - 1), l.phase, bytes_text(l.load),
                    bytes_text(l.floor)});
    if (view.plan) rows.back().push_back(bytes_text(l.planned));
  }
  std::string text = aligned(rows), with_bars;
  std::size_t line = 0;
  for (std::size_t from = 0, end = 0; (end = text.find('\n', from)) != std::string::npos; from = end + 1, ++line) {
    with_bars += text.substr(from, end - from);
    if (line > 0) with_bars += "  " + bar(view.load[line - 1], view.peak, view.plan.has_value());
    with_bars += "\n";
  }
  return with_bars;
}

std::string intervals_text(const PlanView& view) {
  std::vector<std::vector<std::string>> rows = {
      {"tensor", "bytes", "kind", "idle after", "until", "idle for", "hidden"}};
  for (const IntervalView& v : view.intervals)
    rows.push_back({std::to_string(v.interval.tensor) + (v.layer.empty() ? "" : " " + v.layer),
                    bytes_text(v.interval.bytes), v.interval.dead ? v.kind + ", dead" : v.kind,
                    std::to_string(v.interval.last_use) + " " + v.last,
                    std::to_string(v.interval.next_use) + " " + v.next + (v.interval.wraps ? " (next iteration)" : ""),
                    seconds_text(v.interval.gap), percent_text(v.hidden)});
  return aligned(rows);
}

std::string layers_text(const PlanView& view) {
  std::vector<std::vector<std::string>> rows = {{"layer", "kernels", "feature maps", "share", "compute", "transfer"}};
  for (const LayerView& l : view.layers)
    rows.push_back({l.name, std::to_string(l.kernels), bytes_text(l.feature_maps), percent_text(l.share),
                    seconds_text(l.compute), seconds_text(l.transfer)});
  return aligned(rows);
}

std::string plan_text(const PlanView& view) {
  std::int64_t keeping = 0, kept = 0;  // moves, bytes
  for (const Action& action : view.plan->actions)
    if (const auto* m = std::get_if<Move>(&action); m != nullptr && m->keep) ++keeping, kept += m->of.bytes;
  std::string text = "\nPlan of " + view.plan->planner + ": " + view.plan->why + "\n";
  std::vector<std::vector<std::string>> rows;
  for (const auto& [what, count] : action_counts(*view.plan))
    rows.push_back({what, count_text(count.actions) + " actions", bytes_text(count.bytes)});
  if (keeping > 0) rows.push_back({"of the moves, kept there", count_text(keeping) + " actions", bytes_text(kept)});
  if (const auto other = static_cast<std::int64_t>(view.plan->variants.size()); other > 0)
    rows.push_back({"run as variants", count_text(other) + " kernels", ""});
  text += aligned(rows);
  if (!view.proof->errors.empty()) {
    text += "  It cannot be executed:\n";
    for (const InputError& e : view.proof->errors) text += "    " + e.place + ": " + e.message + "\n";
    return text;
  }
  text += "  proved: the GPU holds " + bytes_text(view.proof->peak) + " at most";
  for (const auto& [node, held] : view.proof->nodes) text += ", " + node + " " + bytes_text(held);
  return text + "\n";
}

Json json_of(const PlanView& view) {
  Json json = {{"workload", view.workload},
               {"gpu", view.gpu.value},
               {"iteration", {{"kernels", view.shape.kernels}, {"held", view.shape.held}, {"made", view.shape.made}}},
               {"duration_s", seconds(view.length)},
               {"memory_bytes", view.memory},
               {"peak_bytes", view.peak},
               {"floor_bytes", view.floor},
               {"feature_maps_bytes", view.feature_maps},
               {"load", Json::array()},
               {"intervals", Json::array()},
               {"layers", Json::array()}};
  for (const LoadView& l : view.load)
    json["load"].push_back({{"first_kernel", l.first},
                            {"last_kernel", l.outer - 1},
                            {"phase", l.phase},
                            {"load_bytes", l.load},
                            {"floor_bytes", l.floor},
                            {"planned_bytes", l.planned}});
  for (const IntervalView& v : view.intervals)
    json["intervals"].push_back({{"tensor", v.interval.tensor},
                                 {"bytes", v.interval.bytes},
                                 {"kind", v.kind},
                                 {"layer", v.layer},
                                 {"last_use", v.interval.last_use},
                                 {"next_use", v.interval.next_use},
                                 {"wraps", v.interval.wraps},
                                 {"dead", v.interval.dead},
                                 {"gap_s", seconds(v.interval.gap)},
                                 {"slack_s", seconds(v.interval.slack)},
                                 {"hidden", v.hidden}});
  for (const LayerView& l : view.layers)
    json["layers"].push_back({{"name", l.name},
                              {"kernels", l.kernels},
                              {"feature_maps_bytes", l.feature_maps},
                              {"share", l.share},
                              {"compute_s", seconds(l.compute)},
                              {"transfer_s", seconds(l.transfer)}});
  json["launch_variants"] = {{"kernels", view.variants.kernels},
                             {"fastest_saves_s", seconds(view.variants.saved)},
                             {"workspace_bytes", view.variants.workspace}};
  if (!view.plan) return json;
  Json errors = Json::array(), nodes = Json::object();
  for (const InputError& e : view.proof->errors) errors.push_back({{"place", e.place}, {"message", e.message}});
  for (const auto& [node, held] : view.proof->nodes) nodes[node] = held;
  json["plan"] = {{"planner", view.plan->planner},  {"why", view.plan->why}, {"actions", view.plan->actions.size()},
                  {"peak_bytes", view.proof->peak}, {"nodes_bytes", nodes},  {"errors", errors}};
  return json;
}

}  // namespace

std::string to_text(const PlanView& view) {
  std::string text = view.workload + " on gpu" + std::to_string(view.gpu.value) + ": " +
                     count_text(view.shape.kernels) + " kernels, " + count_text(view.shape.held + view.shape.made) +
                     " tensors, " + seconds_text(view.length) + " when everything fits\n";
  text += "needs " + bytes_text(view.peak) + ", the GPU has " + bytes_text(view.memory) +
          "; with everything moved that is idle " + bytes_text(view.floor) +
          "\n\nLoad, the most in each part of the iteration" + (view.plan ? " (# under the plan, . without it)" : "") +
          "\n" + load_text(view);
  text += "\nLargest idle intervals; hidden: share of a copy out and back that fits between the uses\n" +
          intervals_text(view);
  text += "\nLayers by feature maps (" + bytes_text(view.feature_maps) +
          " in all): what they compute, and what moving the maps out and back takes\n" + layers_text(view);
  if (view.variants.kernels > 0)
    text += "\n" + count_text(view.variants.kernels) + " kernels can run in other ways: each in its fastest saves " +
            seconds_text(view.variants.saved) + " with workspaces of at most " + bytes_text(view.variants.workspace) +
            "\n";
  if (view.plan) text += plan_text(view);
  return text;
}

std::string to_json(const std::vector<PlanView>& views) {
  Json json = Json::array();
  for (const PlanView& view : views) json.push_back(json_of(view));
  return Json{{"plans", json}}.dump(1) + "\n";
}

}  // namespace uvmsim
