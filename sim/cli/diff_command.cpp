#include "cli/diff_command.h"

#include <filesystem>
#include <memory>
#include <ostream>

#include "base/printable.h"
#include "base/user_error.h"
#include "report/diff.h"
#include "study/experiment.h"
#include "study/sweep/sweep_diff.h"

namespace uvmsim {
namespace {

namespace fs = std::filesystem;

bool is_sweep(const std::string& path) { return fs::is_regular_file(fs::path(path) / "sweep.sqlite"); }

ResultText read_result(const std::string& path) {
  const std::string folder = path + "/";
  const bool whole = fs::is_directory(path);
  std::optional<std::string> result = read_text_file(whole ? folder + "result.json" : path);
  if (!result) throw UserError(path, whole ? "holds no result.json" : "no such file or folder");
  return {.result = std::move(*result), .config = whole ? read_text_file(folder + "config.json").value_or("") : ""};
}

struct DiffArguments {
  std::string before, after;
  bool all = false;
  bool json = false;
};

void diff(const DiffArguments& arguments, Console& console) {
  const auto& [before, after, all, json] = arguments;
  if (is_sweep(before) != is_sweep(after))
    throw UserError("diff", "one is a sweep folder and the other is not: " + before + ", " + after);
  if (is_sweep(before)) {
    const SweepDiff sweeps =
        diff_sweeps(SweepStore(before, SweepStore::Open::Existing), SweepStore(after, SweepStore::Open::Existing));
    console.out << (json ? diff_json(sweeps) : printable_lines(diff_text(sweeps)));
    return;
  }
  const ResultDiff results = diff_results(read_result(before), before, read_result(after), after);
  console.out << (json ? diff_json(results) : printable_lines(diff_text(results, all)));
}

}  // namespace

void add_diff_command(Verb app, Console& console) {
  auto arguments = std::make_shared<DiffArguments>();
  Verb verb = app.verb("diff", "show how two results, or two sweeps, differ");
  const std::string forms = "a result.json, a folder of `uvmsim run -o`, or a sweep folder";
  verb.option("before", arguments->before, forms).required();
  verb.option("after", arguments->after, forms).required();
  verb.flag("--all", arguments->all, "also list single GPUs, allocators and links");
  verb.flag("--json", arguments->json, "print one JSON object instead of tables");
  verb.run([arguments, &console] { diff(*arguments, console); });
}

}  // namespace uvmsim
