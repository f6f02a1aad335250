#include "cli/report_command.h"

#include <algorithm>
#include <filesystem>
#include <memory>
#include <ostream>

#include "base/join.h"
#include "base/printable.h"
#include "base/user_error.h"
#include "cli/output_file.h"
#include "cli/result_folder.h"
#include "report/page.h"
#include "study/experiment.h"

namespace uvmsim {
namespace {

namespace fs = std::filesystem;
using Json = nlohmann::ordered_json;

struct ReportArguments {
  std::vector<std::string> paths;
  std::string output = "report.html";
  std::string title;
};

// Collects what is to be shown, and everything that cannot be.
class PageReader {
 public:
  void read(const fs::path& path) {
    if (fs::is_directory(path))
      read_folder(path);
    else
      read_file(path);
  }

  // The files that were read.
  const std::vector<std::string>& inputs() const { return inputs_; }

  Page page(const std::string& title) {
    if (!errors_.empty()) throw UserError("nothing to show in some of the paths", errors_);
    page_.title = title.empty() ? shown() : title;
    return std::move(page_);
  }

 private:
  static constexpr const char* kExpected =
      "expected the folder of `uvmsim run -o` or `uvmsim sweep -o`, a folder of such, or what `run --json`, "
      "`compare --json`, `advise --json`, `analyse --json` or `validate --json` printed";

  // What the page shows, by name: "v100_dgx1, grid"; at most three of them.
  std::string shown() const {
    std::vector<std::string> names;
    const auto add = [&](const std::string& name) {
      if (!name.empty() && std::ranges::find(names, name) == names.end()) names.push_back(name);
    };
    for (const PageRun& run : page_.runs) add(run.name);
    for (const Json& sweep : page_.sweeps) add(sweep.value("name", ""));
    for (const Json& comparison : page_.comparisons) add(comparison.value("experiment", ""));
    for (const Json& advice : page_.advices) add(advice.value("experiment", ""));
    for (const Json& analysis : page_.analyses) add(analysis.value("workload", ""));
    if (names.empty()) return "uvmsim report";
    if (names.size() > 3) {
      names.resize(3);
      names.back() += ", ...";
    }
    return joined(names);
  }

  bool read_run(const fs::path& folder) {
    const auto text = read_text_file((folder / "result.json").string());
    if (!text) return false;
    const Json result = parsed(*text);
    if (!is_result(result)) return false;
    inputs_.insert(inputs_.end(), {folder / "result.json", folder / "observations.json"});
    try {
      check_result_folder(folder);
    } catch (const UserError& error) {
      errors_.insert(errors_.end(), error.errors().begin(), error.errors().end());
      return true;
    }
    Json observations;
    if (const auto more = read_text_file((folder / "observations.json").string())) observations = parsed(*more);
    add_run(result, std::move(observations));
    return true;
  }

  bool read_sweep(const fs::path& folder) {
    const auto text = read_text_file((folder / "sweep.csv").string());
    if (!text) return false;
    inputs_.push_back(folder / "sweep.csv");
    auto sweeps = sweep_pages(*text, fs::absolute(folder).lexically_normal().filename().string());
    if (!sweeps) return false;
    for (Json& sweep : *sweeps) page_.sweeps.push_back(std::move(sweep));
    return true;
  }

  void read_folder(const fs::path& folder) {
    if (read_run(folder) || read_sweep(folder)) return;
    std::vector<fs::path> inside;
    for (const fs::directory_entry& entry : fs::directory_iterator(folder))
      if (entry.is_directory()) inside.push_back(entry.path());
    std::ranges::sort(inside);
    bool any = false;
    for (const fs::path& path : inside) any = read_run(path) || read_sweep(path) || any;
    if (!any) errors_.push_back({folder.string(), kExpected});
  }

  void read_file(const fs::path& path) {
    const auto text = read_text_file(path.string());
    if (!text) {
      errors_.push_back({path.string(), "there is no such file or folder"});
      return;
    }
    inputs_.push_back(path);
    const Json json = parsed(*text);
    if (is_result(json))
      add_run(json, nullptr);
    else if (json.is_object() && json.contains("policies") && json["policies"].is_array())
      page_.comparisons.push_back(json);
    else if (json.is_object() && json.contains("advice") && json.contains("trials") && json["trials"].is_array())
      page_.advices.push_back(json);
    else if (json.is_object() && json.contains("workload") && json.contains("views") && json["views"].is_array())
      page_.analyses.push_back(json);
    else if (json.is_object() && json.contains("families") && json["families"].is_array())
      page_.validations.push_back(json);
    else
      errors_.push_back({path.string(), kExpected});
  }

  // Discarded, which no test below holds for, when `text` is no JSON.
  static Json parsed(const std::string& text) { return Json::parse(text, nullptr, false); }

  static bool is_result(const Json& json) {
    return json.is_object() && json.contains("outcome") && json.contains("summary") && json.contains("run") &&
           json["summary"].contains("totals") && json["summary"].contains("gpus");
  }

  void add_run(const Json& result, Json observations) {
    const auto same = [&](const std::string& name) {
      return std::ranges::any_of(page_.runs, [&](const PageRun& run) { return run.name == name; });
    };
    const auto experiment = result["run"].value("experiment", "run");
    std::string name = experiment;
    for (int n = 2; same(name); ++n) name = experiment + " (" + std::to_string(n) + ")";
    if (!observations.is_object()) observations = nullptr;
    page_.runs.push_back({name, result, std::move(observations)});
  }

  Page page_;
  std::vector<std::string> inputs_;
  std::vector<InputError> errors_;
};

void write_report(const ReportArguments& arguments, Console& console) {
  PageReader reader;
  for (const std::string& path : arguments.paths) reader.read(path);
  const Page page = reader.page(arguments.title);
  OutputFile file(arguments.output, reader.inputs());
  const std::string html = to_html(page);
  file.stream() << html;
  file.keep();
  console.out << printable(arguments.output) << ": " << html.size() / 1000 << " KB\n";
}

}  // namespace

void add_report_command(Verb app, Console& console) {
  auto arguments = std::make_shared<ReportArguments>();
  Verb report = app.verb("report", "write results as one self-contained HTML page");
  report
      .option("paths", arguments->paths,
              "folders that run -o or sweep -o wrote, or what run, compare, advise, analyse or validate printed with "
              "--json")
      .required();
  report.option("-o,--output", arguments->output, "the page").show_default();
  report.option("--title", arguments->title, "default: the names of what the page shows");
  report.run([arguments, &console] { write_report(*arguments, console); });
}

}  // namespace uvmsim
