#include "study/validation/case_family.h"

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <map>
#include <set>

#include "base/join.h"
#include "base/number_text.h"
#include "study/validation/median.h"
#include "study/validation/object_reader.h"
#include "study/validation/result_name.h"
#include "study/validation/unit.h"
#include "trace/digest.h"

namespace uvmsim {
namespace {

constexpr double kWidestTolerance = 0.10;  // where the stated uncertainty is not wider
const std::vector<std::string> kComparisons = {"value", "at_most", "at_least", "outcome", "sign", "range"};
const std::vector<std::string> kRoles = {"calibration", "validation", "claim"};
const std::vector<std::string> kOutcomes = {"completed",     "out_of_memory", "host_out_of_memory", "deadlock",
                                            "contents_lost", "ipc_refused",   "not_managed"};

using MeasurementIndex = std::map<std::string, const Measurement*, std::less<>>;

// Equal for experiments that differ in their names at most.
std::string identity_of(const Experiment& experiment) {
  ResolvedConfig values = experiment.resolved;
  std::erase_if(values, [](const ResolvedValue& v) { return v.pointer == "/name" || v.pointer == "/description"; });
  trace::Digest digest;
  digest.add(to_json(values, false));
  digest.add(experiment.workload.trace);
  return digest.hex();
}

// What a family or a case says about all values in it.
struct Shared {
  std::optional<Tolerance> tolerance = {};
  int deviation = 0;
};

class FamilyReader {
 public:
  FamilyReader(const std::string& file, const CaseSources& sources, const MeasurementIndex& measurements,
               std::vector<InputError>& errors)
      : file_(file), sources_(sources), measurements_(measurements), errors_(errors) {}

  CaseFamily read() {
    CaseFamily family;
    family.file = file_;
    const std::size_t before = errors_.size();
    const JsonValue document = load_json(file_, beside_or_bundled(file_, sources_.configs_folder), errors_);
    if (errors_.size() != before) return family;

    ObjectReader in(document, "", errors_);
    family.name = in.required_text("family");
    family.title = in.required_text("title");
    family.origin = in.text("origin").value_or("");
    if (!in.has("role")) in.error("role", "missing; expected one of " + joined(kRoles));
    family.role = static_cast<Role>(std::ranges::find(kRoles, in.choice("role", kRoles)) - kRoles.begin());
    const Shared shared = read_shared(in, {});
    const bool slow = in.flag("slow");
    const JsonValue* config = in.find("config");
    const JsonValue* surrogate = in.find("surrogate");
    if (config == nullptr) in.error("config", "missing; expected an experiment as in configs/");
    const std::vector<const JsonValue*> cases = in.list("cases");
    if (cases.empty()) in.error("cases", "expected a list of one case at least");
    std::set<std::string> names;
    for (std::size_t i = 0; i < cases.size(); ++i) {
      const std::string pointer = pointer_to("/cases", std::to_string(i));
      surrogate_ = surrogate;
      ValidationCase one = read_case(*cases[i], pointer, config == nullptr ? JsonValue{} : *config, shared);
      one.slow = one.slow || slow;
      if (!one.name.empty() && !names.insert(one.name).second)
        errors_.push_back({place_of(pointer, cases[i]->origin), "there are two cases \"" + one.name + "\""});
      family.cases.push_back(std::move(one));
    }
    in.refuse_the_rest();
    return family;
  }

 private:
  std::optional<Tolerance> read_tolerance(ObjectReader& outer) {
    const JsonValue* value = outer.find("tolerance");
    if (value == nullptr) return std::nullopt;
    ObjectReader in(*value, outer.pointer("tolerance"), errors_);
    Tolerance tolerance;
    if (!in.has("relative")) in.error("relative", "missing; expected a share of the measured value, such as 0.1");
    tolerance.relative = in.number("relative").value_or(0);
    if (!(tolerance.relative >= 0)) in.error("relative", "expected a share of 0 at least");
    tolerance.reason = in.required_text("reason");
    in.refuse_the_rest();
    return tolerance;
  }

  Shared read_shared(ObjectReader& in, const Shared& outer) {
    Shared shared = outer;
    if (std::optional<Tolerance> tolerance = read_tolerance(in)) shared.tolerance = std::move(tolerance);
    if (const std::optional<double> number = in.number("deviation")) {
      shared.deviation = static_cast<int>(*number);
      if (shared.deviation != *number || *number < 0)
        in.error("deviation", "expected a number of validation/DEVIATIONS.md, or 0 for none");
    }
    return shared;
  }

  ValidationCase read_case(const JsonValue& value, const std::string& pointer, const JsonValue& config,
                           const Shared& outer) {
    ObjectReader in(value, pointer, errors_);
    ValidationCase one;
    one.name = in.required_text("name");
    one.slow = in.flag("slow");
    const Shared shared = read_shared(in, outer);

    if (const JsonValue* surrogate = in.find("surrogate")) surrogate_ = surrogate;
    JsonValue document = config;
    if (const JsonValue* set = in.find("set")) apply_settings(document, *set, in.pointer("set"));
    if (const JsonValue* runs = in.find("runs")) {
      if (runs->members.empty()) {
        in.error("runs", "expected an object of one run at least");
        add_run(one, "", document, value.origin);  // for the rest of the case to be read by
      }
      for (const JsonMember& run : runs->members) {
        JsonValue own = document;
        apply_settings(own, run.value, pointer_to(in.pointer("runs"), run.key));
        add_run(one, run.key, std::move(own), value.origin);
      }
    } else {
      add_run(one, "", std::move(document), value.origin);
    }

    const std::vector<const JsonValue*> measured = in.list("measured");
    if (measured.empty()) in.error("measured", "expected a list of one measured value at least");
    for (std::size_t i = 0; i < measured.size(); ++i) {
      const std::string at = pointer_to(in.pointer("measured"), std::to_string(i));
      MeasuredValue m = read_measured(*measured[i], at, one, shared);
      const auto is_named = [&](const std::string& name) {
        return std::ranges::find(one.measured, name, &MeasuredValue::name) != one.measured.end();
      };
      if (is_named(m.name) && !m.id.empty())
        errors_.push_back({place_of(at, measured[i]->origin), "the case has two values \"" + m.name + "\""});
      for (int n = 2; m.id.empty() && is_named(m.name); ++n) m.name = m.metric + " #" + std::to_string(n);
      one.measured.push_back(std::move(m));
    }
    for (CaseRun& run : one.runs) note_questions(one, run);
    in.refuse_the_rest();
    return one;
  }

  void apply_settings(JsonValue& document, const JsonValue& settings, const std::string& pointer) {
    const ObjectReader check(settings, pointer, errors_);
    for (const JsonMember& setting : settings.members)
      apply_setting(document, setting.key, setting.value, setting.value.origin, errors_);
  }

  void add_run(ValidationCase& one, const std::string& name, JsonValue document, const std::string& origin) {
    if (sources_.surrogates && surrogate_ != nullptr) apply_settings(document, *surrogate_, "/surrogate");
    for (const std::string& setting : sources_.settings) apply_setting(document, setting, errors_);
    std::vector<InputError> found;
    Experiment experiment = read_experiment(document, file_, found);
    // What is wrong with the family's config is wrong in every run: once is enough.
    for (InputError& error : found)
      if (seen_.insert(error.place + error.message).second)
        errors_.push_back({"case \"" + one.name + "\" (" + origin + "): " + error.place, std::move(error.message)});
    std::string identity = identity_of(experiment);
    one.runs.push_back({name, std::move(experiment), std::move(identity)});
  }

  // What the metrics of `one` ask of `run`. Runs of one experiment that are asked different things are different runs.
  static void note_questions(const ValidationCase& one, CaseRun& run) {
    bool of_trace = false;  // asked of the trace alone
    for (const MeasuredValue& m : one.measured) {
      std::vector<std::string> names = m.expression.names();
      if (m.criterion == Criterion::Outcome) names = {m.metric};
      for (const std::string& name : names) {
        const RunAndName which = split_name(one, name);
        if (which.run != run.name) continue;
        const std::string parameter = parameter_of_largest(which.name);
        run.need |= which.name == "need_bytes" || which.name == "unplanned_bytes";
        of_trace |= is_of_trace(which.name);
        if (!parameter.empty()) run.largest.insert(parameter);
        run.loading |= asks_for_loading(which.name);
        run.simulated |= !asks_for_need(which.name);
      }
    }
    run.simulated |= !run.need && !of_trace && run.largest.empty();
    if (run.need) run.identity += "-need";
    if (run.loading) run.identity += "-loading";
    for (const std::string& parameter : run.largest) run.identity += "-" + parameter;
    if (!run.simulated) run.identity += "-unsimulated";
  }

  MeasuredValue read_measured(const JsonValue& value, const std::string& pointer, const ValidationCase& one,
                              const Shared& outer) {
    ObjectReader in(value, pointer, errors_);
    MeasuredValue m;
    m.metric = in.required_text("metric");
    const std::string kind = in.choice("kind", kComparisons);
    m.criterion = static_cast<Criterion>(std::ranges::find(kComparisons, kind) - kComparisons.begin());
    m.id = in.text("id").value_or("");
    m.name = m.id.empty() ? m.metric : m.id;
    const Shared shared = read_shared(in, outer);
    m.deviation = shared.deviation;
    m.input = in.flag("input");
    m.why = in.text("why").value_or("");
    if (m.criterion == Criterion::Range) read_range(in, m);
    if (in.has("id"))
      read_listed(in, m);
    else
      read_given(in, m);
    in.refuse_the_rest();

    if (m.criterion == Criterion::Outcome)
      check_outcome(in, m, one);
    else
      read_metric(in, m, one);
    if (m.criterion == Criterion::Sign && m.value * m.unit_factor == 1) in.error("a ratio of 1 is on neither side");
    const bool has_tolerance =
        m.criterion == Criterion::Value || m.criterion == Criterion::AtMost || m.criterion == Criterion::AtLeast;
    if (has_tolerance) set_tolerance(in, m, shared.tolerance);
    return m;
  }

  void read_listed(ObjectReader& in, MeasuredValue& m) {
    for (const char* key : {"value", "unit", "uncertainty", "trust", "source"}) {
      in.find(key);
      if (in.has(key)) in.error(key, "the value of that id has its own " + std::string(key));
    }
    const auto found = measurements_.find(m.id);
    if (found == measurements_.end()) {
      std::vector<std::string> ids;
      for (const auto& [id, measurement] : measurements_) ids.push_back(id);
      in.error("id", "no measured value \"" + m.id + "\"" + did_you_mean(m.id, ids));
      return;
    }
    const Measurement& listed = *found->second;
    m.value = listed.value;
    m.unit = listed.unit;
    m.unit_factor = unit_factor(listed.unit).value_or(1);
    m.uncertainty = listed.uncertainty_share;
    m.trust = listed.trust;
    m.source = listed.source;
  }

  void read_given(ObjectReader& in, MeasuredValue& m) {
    if (!in.has("value")) in.error("expected an id of measurements.json or a value");
    if (m.criterion == Criterion::Outcome)
      m.outcome = in.choice("value", kOutcomes);
    else
      read_numbers(in, m);
    m.unit = in.text("unit").value_or("x");
    const bool needs_unit = m.criterion != Criterion::Outcome && m.criterion != Criterion::Sign;
    if (needs_unit && !in.has("unit")) in.error("unit", "missing; expected a unit such as ms");
    if (const std::optional<double> factor = unit_factor(m.unit)) {
      m.unit_factor = *factor;
    } else {
      const std::string near = unit_meant_by(m.unit);
      in.error("unit", "unknown unit \"" + m.unit + "\"" + (near.empty() ? "" : "; did you mean \"" + near + "\"?"));
    }
    if (const std::optional<double> stated = in.number("uncertainty")) m.uncertainty = stated;
    if (m.uncertainty && !(*m.uncertainty >= 0 && *m.uncertainty < 1))
      in.error("uncertainty", "expected a share, such as 0.05 for 5 %");
    m.trust = in.choice("trust", kTrusts);
    m.source = in.required_text("source");
  }

  static void read_range(ObjectReader& in, MeasuredValue& m) {
    const std::vector<double> range = in.numbers("range");
    if (range.size() != 2 || !(range[0] <= range[1])) return in.error("range", "expected the least and the most value");
    m.least = range[0];
    m.most = range[1];
  }

  // A number, or what several runs measured: their median, uncertain by half of what they differ by.
  static void read_numbers(ObjectReader& in, MeasuredValue& m) {
    const std::vector<double> runs = in.numbers("value");
    if (runs.empty()) return;
    m.value = median(runs);
    const auto [least, most] = std::ranges::minmax(runs);
    if (runs.size() > 1 && m.value != 0) m.uncertainty = std::min(0.99, (most - least) / 2 / std::abs(m.value));
  }

  void check_outcome(ObjectReader& in, const MeasuredValue& m, const ValidationCase& one) {
    const RunAndName which = split_name(one, m.metric);
    if (which.name != "outcome" || one.find_run(which.run) == nullptr)
      in.error("metric", one.runs.size() == 1 && one.runs.front().name.empty()
                             ? "expected outcome"
                             : "expected the name of a run, then .outcome");
    if (!m.id.empty()) in.error("id", "an outcome is given as value");
  }

  void read_metric(ObjectReader& in, MeasuredValue& m, const ValidationCase& one) {
    if (m.metric.empty()) return;
    Expression::Error wrong;
    std::optional<Expression> expression = Expression::parse(m.metric, wrong);
    if (!expression) {
      in.error("metric", wrong.message + " at column " + std::to_string(wrong.column) + " of \"" + m.metric + "\"");
      return;
    }
    for (const std::string& name : expression->names()) {
      const RunAndName which = split_name(one, name);
      const std::string missing = error_of_name(which.name);
      if (one.find_run(which.run) == nullptr) {
        std::vector<std::string> runs;
        for (const CaseRun& run : one.runs) runs.push_back(run.name);
        in.error("metric", "the case has no run \"" + which.run + "\"" +
                               did_you_mean(which.run, runs,
                                            "; its names start with a run's, as in " + runs.front() + ".duration_s"));
      } else if (!missing.empty()) {
        in.error("metric", missing);
      }
    }
    m.expression = std::move(*expression);
  }

  void set_tolerance(ObjectReader& in, MeasuredValue& m, const std::optional<Tolerance>& tolerance) {
    if (!tolerance) {
      in.error("tolerance", "missing; the value, its case or the family must have one");
      return;
    }
    m.tolerance = *tolerance;
    const double widest = std::max(kWidestTolerance, 2 * m.uncertainty.value_or(0));
    if (m.tolerance.relative > widest + 1e-9)
      in.error("a tolerance of " + percent_text(m.tolerance.relative) + " is wider than " + percent_text(widest) +
               ", the larger of 10 % and twice the stated uncertainty");
  }

  const std::string& file_;
  const CaseSources& sources_;
  const MeasurementIndex& measurements_;
  std::vector<InputError>& errors_;
  const JsonValue* surrogate_ = nullptr;  // of the case that is being read, else of the family
  std::set<std::string> seen_;
};

}  // namespace

std::string_view name_of(Role role) { return kRoles[static_cast<std::size_t>(role)]; }

const CaseRun* ValidationCase::find_run(std::string_view run) const {
  const auto found = std::ranges::find(runs, run, &CaseRun::name);
  return found == runs.end() ? nullptr : &*found;
}

RunAndName split_name(const ValidationCase& of, const std::string& name) {
  if (of.runs.size() == 1 && of.runs.front().name.empty()) return {"", name};
  const std::size_t dot = name.find('.');
  return {name.substr(0, dot), dot == std::string::npos ? "" : name.substr(dot + 1)};
}

std::vector<CaseFamily> read_families(const CaseSources& sources, const std::vector<Measurement>& measurements) {
  MeasurementIndex index;
  for (const Measurement& m : measurements) index[m.id] = &m;
  std::vector<InputError> errors;
  std::vector<CaseFamily> families;
  for (const std::string& file : sources.files) {
    families.push_back(FamilyReader(file, sources, index, errors).read());
    const std::string& name = families.back().name;
    for (std::size_t i = 0; i + 1 < families.size() && !name.empty(); ++i)
      if (families[i].name == name)
        errors.push_back({file, "there is another family \"" + name + "\", in " + families[i].file});
  }
  if (!errors.empty()) throw UserError("validation cases", std::move(errors));
  std::ranges::sort(families, {}, &CaseFamily::name);
  return families;
}

}  // namespace uvmsim
