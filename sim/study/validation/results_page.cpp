#include "study/validation/results_page.h"

#include <algorithm>
#include <map>
#include <tuple>

#include "base/user_error.h"
#include "report/json_fields.h"
#include "report/number_text.h"
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

namespace {

// A cell of a Markdown table.
std::string cell(std::string text) {
  for (std::size_t at = 0; (at = text.find('|', at)) != std::string::npos; at += 2) text.insert(at, "\\");
  return text;
}

std::string row(const std::vector<std::string>& cells) {
  std::string line = "|";
  for (const std::string& text : cells) line += " " + cell(text) + " |";
  return line + "\n";
}

std::string header_row(const std::vector<std::string>& cells) {
  std::string line = row(cells) + "|";
  for (std::size_t i = 0; i < cells.size(); ++i) line += " --- |";
  return line + "\n";
}

std::string share(const std::optional<double>& value) { return value ? percent_text(*value) : ""; }

std::string deviation_text(int number) { return number == 0 ? "" : "[" + std::to_string(number) + "](DEVIATIONS.md)"; }

std::string families_table(const std::vector<FamilyScore>& families, Role role) {
  std::string text =
      header_row({"family", "what was measured", "values", "median error", "worst", "bias", "inside tolerance"});
  for (const FamilyScore& f : families)
    if (f.family->role == role)
      text += row({"[" + f.family->name + "](#" + f.family->name + ")", f.family->title, std::to_string(f.values),
                   share(f.median_error), share(f.worst_error), error_text(f.bias),
                   std::to_string(f.inside) + "/" + std::to_string(f.values)});
  return text;
}

std::string summary_line(const ScoreSummary& sum) {
  std::string text =
      std::to_string(sum.inside) + " of " + std::to_string(sum.values) + " values inside their tolerance";
  if (sum.families > 0)
    text += "; median error of " + std::to_string(sum.families) + " families with one, each weighing the same: **" +
            share(sum.median_error) + "**, at most 10 % in " + std::to_string(sum.within_10_percent) +
            " of them, at most 25 % in " + std::to_string(sum.within_25_percent);
  return text + ".\n";
}

std::string family_section(const CaseFamily& family, const std::vector<Score>& scores) {
  std::string text = "### " + family.name + "\n\n" + family.title + ". " + std::string(name_of(family.role)) + ". " +
                     family.origin + ".\n\n";
  text += header_row({"case", "value", "predicted", "measured", "error", "tolerance", "trust", "outside because of"});
  for (const Score& s : scores)
    if (s.family == &family)
      text += row({s.in->name, s.of->name, predicted_text(s), measured_text(*s.of), error_text(s.error),
                   tolerance_text(*s.of), s.of->trust,
                   !s.failure.empty() ? verdict_text(s)
                   : s.inside         ? ""
                                      : (s.of->deviation == 0 ? "unexplained" : deviation_text(s.of->deviation))});
  return text + "\n";
}

std::string uses_section(const std::vector<MeasurementUse>& uses) {
  std::string text = "## Every measured value\n\nand what it is used for: " + std::to_string(uses.size()) +
                     " values of measurements.json.\n\n" + header_row({"value", "role", "by"});
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
    text += row(cells);
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

}  // namespace

std::string results_page(const std::vector<Score>& scores, const std::vector<MeasurementUse>& uses) {
  const std::vector<FamilyScore> families = score_families(scores);
  std::string text =
      "# Predicted beside measured\n\n"
      "Written by `uvmsim validate --results validation`. An error is predicted / measured - 1; bias is the median of\n"
      "errors with their signs. Tolerances are never wider than max(10 %, twice the stated uncertainty). What is "
      "outside\n"
      "is explained, as far as it is known, in [DEVIATIONS.md](DEVIATIONS.md).\n\n";
  text += "## Validation: nothing was fitted to these\n\n" + summary_line(summarize(families, Role::Validation)) +
          "\n" + families_table(families, Role::Validation) + "\n";
  text += "## Calibration: costs may be fitted to these, they judge nothing\n\n" +
          summary_line(summarize(families, Role::Calibration)) + "\n" + families_table(families, Role::Calibration) +
          "\n## Values\n\n";
  for (const FamilyScore& family : families) text += family_section(*family.family, scores);
  return text + uses_section(uses);
}

std::string errors_json(const std::vector<Score>& scores, const RunResults& results) {
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
  return json_of(errors).dump(1) + "\n";
}

std::vector<FamilyErrors> read_errors(const std::string& text, const std::string& path) {
  const std::string expected = "expected what `uvmsim validate --results` writes: ";
  try {
    const OrderedJson json = OrderedJson::parse(text);
    if (!json.is_array()) throw UserError(path, expected + "a list");
    std::vector<FamilyErrors> errors;
    read_json(json, errors);
    return errors;
  } catch (const nlohmann::json::exception& fault) {
    throw UserError(path, expected + fault.what());
  }
}

}  // namespace uvmsim
