#include "study/sweep/plan.h"

#include <algorithm>
#include <fstream>
#include <set>
#include <utility>

#include "study/named_section.h"
#include "trace/digest.h"
#include "trace/error_list.h"

namespace uvmsim {
namespace {

constexpr const char* kPlace = "--sweep";

void set_place(JsonValue& value) {
  value.origin = kPlace;
  for (JsonValue& item : value.items) set_place(item);
  for (JsonMember& member : value.members) set_place(member.value);
}

// As --set KEY=TEXT would, but what is wrong with it is wrong with the axis.
void apply_value(JsonValue& document, const std::string& key, const std::string& text,
                 std::vector<InputError>& errors) {
  JsonValue typed;
  typed.type = JsonValue::Type::Object;
  apply_setting(typed, "value=" + text, errors);
  JsonValue& value = typed.members.front().value;
  set_place(value);
  apply_setting(document, key, std::move(value), kPlace, errors);
}

std::string digest_of_trace(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  if (!file) throw UserError(path, "cannot be read");
  try {
    return trace::digest_of_content(file).hex();
  } catch (const trace::ParseError& error) {
    throw UserError(path, error.message);
  }
}

}  // namespace

SweepPlan::SweepPlan(SweepSources sources) : sources_(std::move(sources)) {
  std::vector<InputError> errors;
  document_ = sources_.document
                  ? *std::exchange(sources_.document, std::nullopt)
                  : load_json(sources_.config, beside_or_bundled(sources_.config, sources_.configs_folder), errors);
  if (!errors.empty()) throw UserError(sources_.config, std::move(errors));
  read_axes(document_, errors);
  read_named(errors);
  if (errors.empty()) make_points(errors);
  if (!errors.empty()) throw UserError(sources_.config, std::move(errors));
}

void SweepPlan::read_axes(const JsonValue& document, std::vector<InputError>& errors) {
  std::vector<SweepAxis> own;
  for (const std::string& text : sources_.axes)
    if (std::optional<SweepAxis> axis = parse_axis(text, kPlace, errors)) own.push_back(std::move(*axis));
  for (SweepAxis& axis : read_sweep_section(document, errors)) {
    const auto replaced = std::ranges::find(own, axis.keys, &SweepAxis::keys);
    axes_.push_back(replaced == own.end() ? std::move(axis) : std::move(*replaced));
    if (replaced != own.end()) own.erase(replaced);
  }
  std::ranges::move(own, std::back_inserter(axes_));
  if (axes_.empty() && errors.empty())
    errors.push_back({kPlace,
                      "nothing to sweep; expected an axis such as workload.batch=48,98, here or in the "
                      "config's \"sweep\""});

  std::size_t points = 1;
  for (const SweepAxis& axis : axes_) {
    points = std::min(points * axis.steps.size(), kMostSweepPoints + 1);
    for (const std::string& key : axis.keys) {
      if (std::ranges::find(keys_, key) != keys_.end()) errors.push_back({kPlace, "two axes have " + key});
      keys_.push_back(key);
    }
  }
  if (points > kMostSweepPoints)
    errors.push_back({kPlace, "more than " + std::to_string(kMostSweepPoints) + " points"});
}

void SweepPlan::read_named(std::vector<InputError>& errors) {
  for (const SweepAxis& axis : axes_)
    for (std::size_t k = 0; k < axis.keys.size(); ++k)
      for (const std::vector<std::string>& step : axis.steps)
        if (is_section_name(axis.keys[k], step[k]) && !named_.contains(axis.keys[k] + "=" + step[k]))
          named_[axis.keys[k] + "=" + step[k]] =
              named_section(axis.keys[k], step[k], sources_.configs_folder, kPlace, errors);
}

void SweepPlan::make_points(std::vector<InputError>& errors) {
  std::set<std::string> seen;
  std::vector<std::size_t> at(axes_.size(), 0);
  for (bool more = true; more;) {
    SweepPoint point;
    for (std::size_t a = 0; a < axes_.size(); ++a)
      point.values.insert(point.values.end(), axes_[a].steps[at[a]].begin(), axes_[a].steps[at[a]].end());
    std::vector<InputError> found;
    const Experiment experiment = read(point, found);
    for (InputError& error : found)
      if (seen.insert(error.place + error.message).second) errors.push_back(std::move(error));
    if (points_.empty()) {
      name_ = experiment.name;
      description_ = experiment.description;
    }
    if (found.empty()) point.hash = hash_of(experiment);
    points_.push_back(std::move(point));

    more = false;
    for (std::size_t a = axes_.size(); a-- > 0 && !more;) {
      more = ++at[a] < axes_[a].steps.size();
      if (!more) at[a] = 0;
    }
  }
}

Experiment SweepPlan::read(const SweepPoint& point, std::vector<InputError>& errors) const {
  JsonValue document = document_;
  const auto apply = [&](const auto& is_due) {
    for (std::size_t k = 0; k < keys_.size(); ++k) {
      const auto named = named_.find(keys_[k] + "=" + point.values[k]);
      if (!is_due(keys_[k], named != named_.end())) continue;
      if (named != named_.end())
        put_section(document, keys_[k], named->second, kPlace, errors);
      else
        apply_value(document, keys_[k], point.values[k], errors);
    }
  };
  const auto is_policy = [](const std::string& key) { return key == "policy"; };
  const auto is_whole = [](const std::string& key) { return key.find('.') == std::string::npos; };
  apply([&](const std::string& key, bool named) { return named && is_whole(key) && !is_policy(key); });
  for (const std::string& setting : sources_.settings)
    apply_setting(document, setting, sources_.configs_folder, errors);
  apply([&](const std::string& key, bool named) { return named && is_policy(key); });
  apply([&](const std::string& key, bool named) { return !named || !is_whole(key); });
  return read_experiment(document, sources_.config, errors);
}

Experiment SweepPlan::experiment(const SweepPoint& point) const {
  std::vector<InputError> errors;
  Experiment experiment = read(point, errors);
  if (!errors.empty()) throw UserError(sources_.config, std::move(errors));
  return experiment;
}

std::string SweepPlan::text_of(const SweepPoint& point) const {
  std::string text;
  for (std::size_t k = 0; k < keys_.size(); ++k) text += (k == 0 ? "" : " ") + keys_[k] + "=" + point.values[k];
  return text;
}

std::string SweepPlan::hash_of(const Experiment& experiment) {
  ResolvedConfig values = experiment.resolved;
  std::erase_if(values, [](const ResolvedValue& v) { return v.pointer == "/name" || v.pointer == "/description"; });
  trace::Digest digest;
  digest.add(to_json(values, false));
  const std::string& trace = experiment.workload.trace;
  if (!trace.empty()) {
    const auto [known, added] = trace_digests_.try_emplace(trace);
    if (added) {
      known->second = digest_of_trace(trace);
    }
    digest.add(known->second);
  }
  digest.add(sources_.in_core ? "in core" : "");
  return digest.hex();
}

}  // namespace uvmsim
