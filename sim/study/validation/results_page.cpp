#include "study/validation/results_page.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <fmt/format.h>
#include <map>
#include <tuple>

#include "base/number_text.h"
#include "base/scramble.h"
#include "base/user_error.h"
#include "report/json_fields.h"
#include "report/markdown.h"
#include "study/validation/median.h"
#include "study/validation/score_text.h"

namespace uvmsim {

template <>
inline constexpr auto kFields<RunTraits> = std::tuple{Field{"gpu", &RunTraits::gpu, "", ""},
                                                      Field{"architecture", &RunTraits::architecture, "", ""},
                                                      Field{"driver", &RunTraits::driver, "", ""},
                                                      Field{"workload", &RunTraits::workload, "", ""},
                                                      Field{"sort", &RunTraits::sort, "", ""},
                                                      Field{"managed", &RunTraits::managed, "", ""},
                                                      Field{"gpus", &RunTraits::gpus, "", ""},
                                                      Field{"least_memory", &RunTraits::least_memory, "1", ""},
                                                      Field{"most_memory", &RunTraits::most_memory, "1", ""}};
UVMSIM_NAMES_EVERY_MEMBER(RunTraits);

template <>
inline constexpr auto kFields<FamilyErrors> = std::tuple{Field{"family", &FamilyErrors::family, "", ""},
                                                         Field{"title", &FamilyErrors::title, "", ""},
                                                         Field{"values", &FamilyErrors::values, "", ""},
                                                         Field{"median_error", &FamilyErrors::median_error, "1", ""},
                                                         Field{"worst_error", &FamilyErrors::worst_error, "1", ""},
                                                         Field{"bias", &FamilyErrors::bias, "1", ""},
                                                         Field{"runs", &FamilyErrors::runs, "", ""}};
UVMSIM_NAMES_EVERY_MEMBER(FamilyErrors);

template <>
inline constexpr auto kFields<ErrorModel> = std::tuple{
    Field{"own_costs", &ErrorModel::own_costs, "1", ""}, Field{"other_costs", &ErrorModel::other_costs, "1", ""},
    Field{"quantile", &ErrorModel::quantile, "1", ""},   Field{"correlation", &ErrorModel::correlation, "1", ""},
    Field{"values", &ErrorModel::values, "", ""},        Field{"coverage", &ErrorModel::coverage, "1", ""}};
UVMSIM_NAMES_EVERY_MEMBER(ErrorModel);

template <>
inline constexpr auto kFields<OwnCosts> =
    std::tuple{Field{"machine", &OwnCosts::machine, "", ""}, Field{"gpu", &OwnCosts::gpu, "", ""},
               Field{"driver_costs", &OwnCosts::driver_costs, "", ""}};
UVMSIM_NAMES_EVERY_MEMBER(OwnCosts);

template <>
inline constexpr auto kFields<PublishedErrors> =
    std::tuple{Field{"families", &PublishedErrors::families, "", ""}, Field{"model", &PublishedErrors::model, "", ""},
               Field{"own_costs", &PublishedErrors::own_costs, "", ""}};
UVMSIM_NAMES_EVERY_MEMBER(PublishedErrors);

namespace {

std::string share(const std::optional<double>& value) { return value ? percent_text(*value) : ""; }

std::string deviation_text(int number) { return number == 0 ? "" : fmt::format("[{}](DEVIATIONS.md)", number); }

// The score of the same family in another list; nullptr when it is not there.
const FamilyScore* same_family(const FamilyScore& family, const std::vector<FamilyScore>& list) {
  const auto found =
      std::ranges::find_if(list, [&](const FamilyScore& f) { return f.family->name == family.family->name; });
  return found == list.end() ? nullptr : &*found;
}

std::string families_table(const std::vector<FamilyScore>& families, const std::vector<FamilyScore>& left_out,
                           Role role) {
  std::string text = markdown_header(
      {"family", "what was measured", "values", "median error", "worst", "bias", "inside tolerance", "left out"});
  for (const FamilyScore& f : families) {
    if (f.family->role != role) continue;
    const FamilyScore* without = same_family(f, left_out);
    text += markdown_row({fmt::format("[{0}](#{0})", f.family->name), f.family->title, std::to_string(f.values),
                          share(f.median_error), share(f.worst_error), error_text(f.bias),
                          fmt::format("{}/{}", f.inside, f.values),
                          without == nullptr ? "" : share(without->median_error)});
  }
  return text;
}

// The families that judge, those of hosts with calibration cases as they come out without these.
std::string left_out_line(const std::vector<FamilyScore>& families, const std::vector<FamilyScore>& left_out) {
  std::vector<FamilyScore> strangers;
  for (const FamilyScore& f : families) {
    const FamilyScore* without = same_family(f, left_out);
    strangers.push_back(without == nullptr ? f : *without);
  }
  const ScoreSummary sum = summarize(strangers, Role::Validation);
  return fmt::format(
      "What a user with another machine gets: with the calibration cases of each family's host left out of the fit "
      "(column\n*left out*; a family without one is of a host that has none) the median of the families is **{}**, at "
      "most 25 % in {}.\n",
      share(sum.median_error), sum.within_25_percent);
}

std::string all_values_line(const std::vector<Score>& scores) {
  std::vector<double> errors;
  for (const Score& s : scores)
    if (s.family->role == Role::Validation && s.error) errors.push_back(std::abs(*s.error));
  if (errors.empty()) return "";
  std::ranges::sort(errors);
  const auto within = [&](double limit) {
    return std::ranges::count_if(errors, [&](double e) { return e <= limit; }) * 100 / std::ssize(errors);
  };
  return fmt::format("Over the {} values with an error: median {}, {} % of them at most 25 %, 90th percentile {}.\n",
                     errors.size(), percent_text(median(errors)), within(0.25),
                     percent_text(errors[errors.size() * 9 / 10]));
}

std::string bands_section(const PublishedErrors& errors) {
  const ErrorModel& model = errors.model;
  std::string text =
      fmt::format(
          "## Bands\n\nEvery predicted time comes with a band that is to hold {} of the truth. It is computed from how "
          "far "
          "off\nthe predictions of {} measured times and rates were, by what prices them "
          "(sim/study/validation/error_model.h), own\ncosts and left out ones. Checked on families that the bands were "
          "not computed from, they hold **{}** of the\nvalues. A band is x/ exp({} x the root of the sum of squares of "
          "share x the numbers below); two times of one\nmachine share {} of their errors.\n\n",
          percent_text(kBandLevel), model.values, percent_text(model.coverage), number_text(model.quantile),
          percent_text(model.correlation)) +
      markdown_header({"work", "own calibration", "none"});
  std::apply(
      [&](const auto&... field) {
        ((text += markdown_row({std::string(field.doc), number_text(model.own_costs.*field.member),
                                number_text(model.other_costs.*field.member)})),
         ...);
      },
      kFields<ByKind>);
  return text + "\n";
}

std::string summary_line(const ScoreSummary& sum) {
  std::string text = fmt::format("{} of {} values inside their tolerance", sum.inside, sum.values);
  if (sum.families > 0)
    text += fmt::format(
        "; median error of {} families with one, each weighing the same: **{}**, at most 10 % in {} of them, at most "
        "25 "
        "% in {}",
        sum.families, share(sum.median_error), sum.within_10_percent, sum.within_25_percent);
  return text + ".\n";
}

std::string family_section(const CaseFamily& family, const std::vector<Score>& scores) {
  std::string text =
      fmt::format("### {}\n\n{}. {}. {}.\n\n", family.name, family.title, name_of(family.role), family.origin);
  text +=
      markdown_header({"case", "value", "predicted", "measured", "error", "tolerance", "trust", "outside because of"});
  for (const Score& s : scores)
    if (s.family == &family)
      text += markdown_row({s.in->name, s.of->name, predicted_text(s), measured_text(*s.of), error_text(s.error),
                            tolerance_text(*s.of), s.of->trust,
                            !s.failure.empty() ? verdict_text(s)
                            : s.inside         ? ""
                                       : (s.of->deviation == 0 ? "unexplained" : deviation_text(s.of->deviation))});
  return text + "\n";
}

std::string uses_section(const std::vector<MeasurementUse>& uses) {
  std::string text =
      fmt::format("## Every measured value\n\nand what it is used for: {} values of measurements.json.\n\n",
                  uses.size()) +
      markdown_header({"value", "role", "by"});
  for (const MeasurementUse& use : uses) {
    std::vector<std::string> cells = {use.of->id, "none", ""};
    for (const CaseFamily* family : use.families) {
      cells[1] = name_of(family->role);
      cells[2] += (cells[2].empty() ? "" : ", ") + family->name;
    }
    for (const DeclaredUse* declared : use.declared) {
      cells[1] = declared->excluded ? "excluded" : "input";
      cells[2] = declared->reason;
    }
    text += markdown_row(cells);
  }
  return text;
}

// Adds the run to those alike, or widens what they took of memory.
void add_traits(std::vector<RunTraits>& runs, const RunTraits& run) {
  const auto key = [](const RunTraits& r) { return std::tie(r.gpu, r.driver, r.workload, r.managed, r.gpus); };
  for (RunTraits& known : runs)
    if (key(known) == key(run)) {
      known.least_memory = std::min(known.least_memory, run.least_memory);
      known.most_memory = std::max(known.most_memory, run.most_memory);
      return;
    }
  runs.push_back(run);
}

std::vector<RunTraits> traits_of_family(const CaseFamily& family, const RunResults& results) {
  std::vector<RunTraits> runs;
  for (const ValidationCase& one : family.cases)
    for (const CaseRun& run : one.runs)
      if (const auto* result = std::get_if<Result>(&results.at(run.identity)))
        add_traits(runs, traits_of(run.experiment, run.experiment.workload.generator, result->gpus.size(),
                                   result->reserved_bytes));
  return runs;
}

// Whether a metric in this unit is a time or a rate.
bool is_time(const std::string& unit) {
  return unit == "s" || unit == "ms" || unit == "us" || unit == "ns" || unit.ends_with("/s");
}

// How the logarithm of the predicted value moves with each kind's time, on the machine of the case's first run.
ByKind moves_of(const Score& score, const RunResults& results) {
  constexpr double kStretch = 1.01;
  const BytesPerSecond remote = score.in->runs.front().experiment.machine.gpus.front().remote_bandwidth;
  ByKind moves;
  const auto move = [&](double ByKind::*kind) {
    RunResults after;
    for (const CaseRun& run : score.in->runs)
      after[run.identity] = stretched(std::get<Result>(results.at(run.identity)), kind, kStretch, remote);
    const std::optional<double> predicted = predict(score, after);
    if (predicted && *predicted > 0) moves.*kind = std::log(*predicted / *score.predicted) / std::log(kStretch);
  };
  std::apply([&](const auto&... field) { (move(field.member), ...); }, kFields<ByKind>);
  return moves;
}

void add_time_errors(const std::vector<Score>& scores, const RunResults& results, const auto& own_costs,
                     std::vector<TimeError>& errors) {
  for (const Score& s : scores) {
    const bool predicted = s.predicted && *s.predicted > 0 && s.of->value > 0;
    if (s.family->role != Role::Validation || s.of->criterion != Criterion::Value || !predicted || !is_time(s.of->unit))
      continue;
    errors.push_back({.family = s.family->name,
                      .value = s.name(),
                      .own_costs = own_costs(s.in->runs.front().experiment.machine.name),
                      .log_error = std::log(*s.predicted / s.of->value),
                      .uncertainty = s.of->uncertainty.value_or(0),
                      .moves = moves_of(s, results)});
  }
}

std::vector<FamilyErrors> family_errors(const std::vector<Score>& scores, const RunResults& results) {
  std::vector<FamilyErrors> errors;
  for (const FamilyScore& f : score_families(scores)) {
    if (f.family->role != Role::Validation || !f.median_error) continue;
    errors.push_back({.family = f.family->name,
                      .title = f.family->title,
                      .values = f.values,
                      .median_error = *f.median_error,
                      .worst_error = *f.worst_error,
                      .bias = *f.bias,
                      .runs = traits_of_family(*f.family, results)});
  }
  return errors;
}

}  // namespace

OwnCosts own_costs_of(const Machine& machine) {
  const GpuSpec& gpu = machine.gpus[GpuIndex{0}];
  constexpr std::size_t kSteps = sizeof(DriverCosts) / sizeof(Duration);
  SequenceHash costs;
  for (const Duration step : std::bit_cast<std::array<Duration, kSteps>>(gpu.driver_costs)) costs.add(step.count());
  return {machine.name, gpu.name, fmt::format("{:016x}", costs.value())};
}

PublishedErrors publish(const ScoredCases& cases, const std::vector<std::string>& calibrated) {
  PublishedErrors published{family_errors(cases.scores, cases.results), {}, {}};
  std::vector<TimeError> errors;
  add_time_errors(
      cases.scores, cases.results,
      [&](const std::string& machine) { return std::ranges::count(calibrated, machine) > 0; }, errors);
  add_time_errors(
      cases.left_out_scores, cases.left_out_results, [](const std::string&) { return false; }, errors);
  if (!errors.empty()) published.model = fit_error_model(errors);
  return published;
}

Band band_of(const PublishedErrors& errors, const Machine& machine, const std::vector<GpuResult>& gpus,
             double duration_s) {
  constexpr double kSmall = 0.005;  // shares below are left out of the list
  const ByKind shares = shares_of(gpus, machine.gpus[GpuIndex{0}].remote_bandwidth);
  Band band{.level = kBandLevel, .own_costs = std::ranges::count(errors.own_costs, own_costs_of(machine)) > 0};
  const double factor = std::exp(errors.model.quantile * spread_of(errors.model, shares, band.own_costs));
  band.low_s = duration_s / factor;
  band.high_s = duration_s * factor;
  const ByKind& spread = band.own_costs ? errors.model.own_costs : errors.model.other_costs;
  std::apply(
      [&](const auto&... field) {
        ((void)(shares.*field.member >= kSmall &&
                (band.parts.push_back({std::string(field.doc), shares.*field.member, spread.*field.member}), true)),
         ...);
      },
      kFields<ByKind>);
  std::ranges::stable_sort(band.parts, std::greater{}, &BandPart::share);
  return band;
}

std::string results_page(const ScoredCases& cases, const PublishedErrors& errors,
                         const std::vector<MeasurementUse>& uses) {
  const std::vector<FamilyScore> families = score_families(cases.scores);
  const std::vector<FamilyScore> left_out = score_families(cases.left_out_scores);
  std::string text =
      "# Predicted beside measured\n\n"
      "Written by `uvmsim validate --results validation`. An error is predicted / measured - 1; bias is the median of\n"
      "errors with their signs. Tolerances are never wider than max(10 %, twice the stated uncertainty). What is "
      "outside\n"
      "is explained, as far as it is known, in [DEVIATIONS.md](DEVIATIONS.md).\n\n";
  text += "## Validation: nothing was fitted to these\n\n" + summary_line(summarize(families, Role::Validation)) +
          all_values_line(cases.scores) + left_out_line(families, left_out) + "\n" +
          families_table(families, left_out, Role::Validation) + "\n" + bands_section(errors);
  text += "## Calibration: costs may be fitted to these, they judge nothing\n\n" +
          summary_line(summarize(families, Role::Calibration)) + "\n" +
          families_table(families, left_out, Role::Calibration) + "\n## Values\n\n";
  for (const FamilyScore& family : families) text += family_section(*family.family, cases.scores);
  return text + uses_section(uses);
}

std::string errors_json(const PublishedErrors& errors) { return json_of(errors).dump(1) + "\n"; }

PublishedErrors read_errors(const std::string& text, const std::string& path) {
  const std::string expected = "expected what `uvmsim validate --results` writes: ";
  try {
    const OrderedJson json = OrderedJson::parse(text);
    if (!json.is_object()) throw UserError(path, expected + "an object");
    PublishedErrors errors;
    read_json(json, errors);
    return errors;
  } catch (const nlohmann::json::exception& fault) {
    throw UserError(path, expected + fault.what());
  }
}

}  // namespace uvmsim
