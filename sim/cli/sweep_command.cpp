#include "cli/sweep_command.h"

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <memory>
#include <nlohmann/json.hpp>
#include <ostream>
#include <thread>
#include <unistd.h>

#include "base/printable.h"
#include "base/quantity.h"
#include "base/user_error.h"
#include "cli/config_files.h"
#include "cli/interrupt.h"
#include "cli/output_file.h"
#include "cli/progress_bar.h"
#include "report/json.h"
#include "study/simulate.h"
#include "study/sweep/peers.h"
#include "study/sweep/run_sweep.h"
#include "study/sweep/sweep_text.h"

namespace uvmsim {
namespace {

namespace fs = std::filesystem;

struct SweepArguments {
  ConfigArguments what;
  std::vector<std::string> axes;
  std::string folder;
  std::string shard;
  std::string memory;
  int jobs = 0;
  int timeout_s = 3600;
  bool resume = false;
  bool no_in_core = false;
  bool dry_run = false;
  bool json = false;
  bool quiet = false;
};

Shard shard_of(const SweepArguments& arguments, const Console& console) {
  if (arguments.shard.empty()) return console.peers != nullptr ? Shard{} : slurm_shard(std::getenv).value_or(Shard{});
  const std::optional<Shard> shard = parse_shard(arguments.shard);
  if (!shard) throw UserError("--shard " + arguments.shard, "expected one such as 3/16, the third of sixteen");
  return *shard;
}

PointLimits limits_of(const SweepArguments& arguments) {
  PointLimits limits{.timeout = std::chrono::seconds(arguments.timeout_s)};
  if (arguments.memory.empty()) return limits;
  const std::optional<Bytes> memory = parse_bytes(arguments.memory);
  if (!memory || memory->value <= 0)
    throw UserError("--memory " + arguments.memory, "expected " + std::string(kBytesForm));
  limits.memory = *memory;
  return limits;
}

void keep_csv(const SweepStore& store, const std::string& folder) {
  OutputFile file(folder + "/sweep.csv");
  write_csv(store, file.stream());
  file.keep();
}

void show_plan(const SweepPlan& plan, const std::vector<std::size_t>& points, std::ostream& out) {
  for (const std::size_t point : points)
    out << plan.points()[point].hash << " " << printable(plan.text_of(plan.points()[point])) << "\n";
}

ExitCode exit_of(const SweepProgress& end) {
  if (end.interrupted) return ExitCode::Interrupted;
  return end.failed > 0 ? ExitCode::Incomplete : ExitCode::Done;
}

void report_end(const SweepProgress& end, std::ostream& err) {
  if (end.interrupted)
    err << "uvmsim: interrupted with " << end.done << " of " << end.all << " points done; --resume continues\n";
  if (end.failed > 0)
    err << "uvmsim: " << end.failed << " of " << end.all << " points failed; --resume tries them again\n";
}

// Points that were there before are no part of the work.
void show(const SweepProgress& progress, ProgressBar& bar) {
  const std::size_t work = progress.all - progress.skipped;
  std::string text = std::to_string(progress.done) + "/" + std::to_string(progress.all) + " points, " +
                     std::to_string(progress.running) + " running";
  if (progress.failed > 0) text += ", " + std::to_string(progress.failed) + " failed";
  bar.show(work == 0 ? 1 : static_cast<double>(progress.done - progress.skipped) / static_cast<double>(work), text);
}

void lead(const SweepArguments& arguments, const SweepPlan& plan, std::unique_ptr<PointWorkers> workers,
          Console& console) {
  const Shard shard = shard_of(arguments, console);
  const std::vector<std::size_t> points = points_of(plan, shard);
  std::string folder = arguments.folder;
  if (shard.count > 1) folder += "/shard-" + std::to_string(shard.index + 1) + "-of-" + std::to_string(shard.count);
  SweepStore store(folder, SweepStore::Open::Create);
  if (!arguments.resume && store.has_results())
    throw UserError(folder, "holds results of a sweep; --resume continues it");
  store.add(plan, points);

  ProgressBar bar(!arguments.quiet && shows_progress(), std::chrono::seconds(0));
  const SweepProgress end =
      run_sweep(plan, points, store, *workers,
                {.stopped = end_requested, .progress = [&](const SweepProgress& progress) { show(progress, bar); }});
  workers.reset();
  bar.erase();
  keep_csv(store, folder);
  if (arguments.json)
    write_json(store, console.out);
  else if (!end.interrupted)
    write_table(store, console.out);
  report_end(end, console.err);
  console.exit = exit_of(end);
}

void sweep(const SweepArguments& arguments, Console& console) {
  if (arguments.what.config.empty()) throw UserError("sweep", "expected a config, or merge or show");
  if (arguments.folder.empty() && !arguments.dry_run)
    throw UserError("sweep", "expected -o DIR, the folder for the results");
  const PointLimits limits = limits_of(arguments);
  NamedDocument named = read_document(arguments.what);
  for (const std::string& axis : arguments.axes)
    if (named.is_trace && axis.starts_with("machine="))
      throw UserError("--sweep " + axis,
                      "a trace's durations are those of one machine; `uvmsim run --set machine=NAME` "
                      "scales them to another");
  const SweepPlan plan({.config = std::move(named.name),
                        .document = std::move(named.document),
                        .settings = arguments.what.settings,
                        .axes = arguments.axes,
                        .configs_folder = configs_folder(),
                        .in_core = !arguments.no_in_core});
  if (arguments.dry_run) {
    show_plan(plan, points_of(plan, shard_of(arguments, console)), console.out);
    return;
  }
  const auto simulate_point = [&](std::size_t point) {
    return to_json(
        simulate(plan.experiment(plan.points()[point]), {.references = !arguments.no_in_core, .progress = {}}));
  };
  const int by_default = console.peers != nullptr ? 1 : static_cast<int>(std::thread::hardware_concurrency());
  const auto jobs = static_cast<std::size_t>(std::max(arguments.jobs > 0 ? arguments.jobs : by_default, 1));
  std::unique_ptr<PointWorkers> workers = std::make_unique<PointProcesses>(simulate_point, jobs, limits);

  const EndOnRequest end_on_request;
  if (console.peers == nullptr) {
    lead(arguments, plan, std::move(workers), console);
  } else if (console.peers->rank() == 0) {
    lead(arguments, plan, std::make_unique<PeerWorkers>(*console.peers, std::move(workers), plan), console);
  } else {
    serve_points(*console.peers, *workers, plan, end_requested);
  }
}

// The shards in `folder`.
std::vector<std::string> shards_in(const std::string& folder) {
  std::vector<std::string> shards;
  std::error_code error;
  for (const fs::directory_entry& entry : fs::directory_iterator(folder, error))
    if (entry.is_directory() && entry.path().filename().string().starts_with("shard-"))
      shards.push_back(entry.path().string());
  std::ranges::sort(shards);
  return shards;
}

void merge(const std::string& into, std::vector<std::string> from, bool json, Console& console) {
  if (from.empty()) from = shards_in(into);
  if (from.empty()) throw UserError(into, "holds no shards; expected the folders to merge behind it");
  SweepStore store(into, SweepStore::Open::Create);
  nlohmann::ordered_json added = nlohmann::ordered_json::object();
  for (const std::string& folder : from) added[folder] = store.merge(folder);
  keep_csv(store, into);
  if (json) {
    console.out << nlohmann::ordered_json{{"merged", added}}.dump(1) << "\n";
    return;
  }
  for (const auto& [folder, results] : added.items())
    console.out << printable(folder) << ": " << results << " results\n";
}

}  // namespace

void add_sweep_command(Verb app, Console& console) {
  auto arguments = std::make_shared<SweepArguments>();
  Verb verb = app.verb("sweep", "simulate a grid of points, each in its own process");
  add_config_options(verb, arguments->what, false);
  verb.option("--sweep", arguments->axes,
              "KEY=VALUE,VALUE,...: an axis of the grid; may be repeated. Values may be range(FIRST,LAST,STEP) and "
              "log2(FIRST,LAST); KEY=... & KEY=... go together; machine, workload and policy take names")
      .repeatable();
  verb.option("-o,--output", arguments->folder, "the folder for sweep.sqlite and sweep.csv (sim/study/SWEEP.md)");
  verb.flag("--resume", arguments->resume, "continue in a folder that has results: skip what is done, retry failures");
  verb.option("-j,--jobs", arguments->jobs, "points at a time; default: the number of cores").positive();
  verb.option("--timeout", arguments->timeout_s, "time limit of one point in seconds").positive().show_default();
  verb.option("--memory", arguments->memory, "memory limit of one point, such as \"4 GiB\"; default: none");
  verb.option("--shard", arguments->shard,
              "I/N: only every N-th point, into DIR/shard-I-of-N; default: the Slurm array's task, or 1/1");
  verb.flag("--no-in-core", arguments->no_in_core, "do not simulate the references with unlimited GPU memory");
  verb.flag("--dry-run", arguments->dry_run, "print the points with their hashes, and simulate nothing");
  verb.flag("--json", arguments->json, "print one JSON object instead of a table");
  verb.flag("--quiet", arguments->quiet, "no progress bar");

  auto folder = std::make_shared<std::string>();
  auto from = std::make_shared<std::vector<std::string>>();
  Verb merge_verb = verb.verb("merge", "put the results of shards into one folder");
  merge_verb.option("into", *folder, "a sweep folder, made when it is not there").required();
  merge_verb.option("from", *from, "sweep folders; default: the shards in the first");
  auto json = std::make_shared<bool>(false);
  merge_verb.flag("--json", *json, "print one JSON object: results by folder");
  merge_verb.run([folder, from, json, &console] { merge(*folder, *from, *json, console); });

  Verb show_verb = verb.verb("show", "print the points of a sweep folder");
  show_verb.option("folder", *folder, "a sweep folder").required();
  show_verb.flag("--json", *json, "print one JSON object instead of a table");
  show_verb.run([folder, json, &console] {
    const SweepStore store(*folder, SweepStore::Open::Existing);
    if (*json)
      write_json(store, console.out);
    else
      write_table(store, console.out);
  });
  verb.run([arguments, merge_verb, show_verb, &console] {
    if (!merge_verb.given() && !show_verb.given()) sweep(*arguments, console);
  });
}

}  // namespace uvmsim
