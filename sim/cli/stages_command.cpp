#include "cli/stages_command.h"

#include <algorithm>
#include <charconv>
#include <memory>
#include <ostream>

#include "base/printable.h"
#include "base/user_error.h"
#include "cli/config_files.h"
#include "study/stages.h"

namespace uvmsim {
namespace {

struct StagesArguments {
  std::vector<std::string> stages, settings;
  std::string each;
  bool json = false;
};

// A configuration, and behind * how often its iteration runs.
std::pair<std::string, std::int64_t> config_and_repeats(const std::string& text) {
  const std::size_t star = std::min(text.rfind('*'), text.size());
  std::int64_t repeats = 1;
  if (star < text.size()) {
    const auto [end, fault] = std::from_chars(text.data() + star + 1, text.data() + text.size(), repeats);
    if (fault != std::errc{} || end != text.data() + text.size() || repeats < 1)
      throw UserError("stages", "expected a whole number of 1 or more behind *");
  }
  return {text.substr(0, star), repeats};
}

// "KEY=VALUE,VALUE,...": a setting of each GPU.
std::vector<std::string> settings_of_gpus(const std::string& each, std::vector<InputError>& errors) {
  std::vector<std::string> settings;
  const std::size_t equals = each.find('=');
  if (each.empty()) return settings;
  if (equals == std::string::npos) {
    errors.push_back({"--each", "expected KEY=VALUE,VALUE,..., got \"" + each + "\""});
    return settings;
  }
  for (std::size_t begin = equals + 1; begin <= each.size();) {
    const std::size_t end = std::min(each.find(',', begin), each.size());
    settings.push_back(each.substr(0, equals + 1) + each.substr(begin, end - begin));
    begin = end + 1;
  }
  return settings;
}

Stage stage_of(const std::string& text, const StagesArguments& arguments, const std::vector<std::string>& each) {
  const auto [config, repeats] = config_and_repeats(text);
  Stage stage{.name = {}, .repeats = repeats, .run_of = {}, .runs = {}};
  const auto read = [&, config = config](const std::vector<std::string>& more) {  // clang 14 wants it named
    ConfigArguments of{.config = config, .machine = {}, .settings = arguments.settings};
    of.settings.insert(of.settings.end(), more.begin(), more.end());
    return read_config(of);
  };
  if (each.empty()) {
    stage.runs.push_back(read({}));
    stage.run_of.assign(stage.runs.front().machine.gpus.size(), 0);
  }
  std::vector<std::string> seen;
  std::vector<InputError> errors;
  for (const std::string& setting : each) {
    const auto found = std::ranges::find(seen, setting) - seen.begin();
    stage.run_of.push_back(static_cast<std::size_t>(found));
    if (static_cast<std::size_t>(found) < seen.size()) continue;
    seen.push_back(setting);
    try {
      stage.runs.push_back(read({setting}));
    } catch (const UserError& error) {
      errors.insert(errors.end(), error.errors().begin(), error.errors().end());
    }
  }
  if (!errors.empty()) throw UserError(text, std::move(errors));
  stage.name = stage.runs.front().name;
  const std::size_t gpus = stage.runs.front().machine.gpus.size();
  if (stage.run_of.size() != gpus)
    throw UserError(stage.name, {{"--each", "has " + std::to_string(stage.run_of.size()) + " values, and the machine " +
                                                std::to_string(gpus) + " GPUs"}});
  return stage;
}

void run(const StagesArguments& arguments, Console& console) {
  std::vector<Stage> stages;
  std::vector<InputError> errors;
  const std::vector<std::string> each = settings_of_gpus(arguments.each, errors);
  for (const std::string& text : arguments.stages) {
    try {
      stages.push_back(stage_of(text, arguments, each));
    } catch (const UserError& error) {
      for (const InputError& of : error.errors())
        errors.push_back({of.place.empty() ? text : text + ", " + of.place, of.message});
    }
  }
  if (errors.empty())
    for (const Stage& stage : stages)
      if (stage.run_of.size() != stages.front().run_of.size())
        errors.push_back({stage.name, "runs on " + std::to_string(stage.run_of.size()) + " GPUs, the first stage on " +
                                          std::to_string(stages.front().run_of.size())});
  if (!errors.empty()) throw UserError("stages", std::move(errors));
  const StagesReport report = run_stages(stages);
  console.out << (arguments.json ? to_json(report) : printable_lines(to_text(report)));
  const auto completed = [](const StageResult& stage) { return stage.outcome == Outcome::Completed; };
  if (!std::ranges::all_of(report.stages, completed)) console.exit = ExitCode::Incomplete;
}

}  // namespace

void add_stages_command(Verb app, Console& console) {
  auto arguments = std::make_shared<StagesArguments>();
  Verb verb = app.verb("stages",
                       "run configurations one after the other as stages of one program, and show their times and the "
                       "peak memory of each GPU");
  verb.option("stages", arguments->stages, "configurations in order; NAME*N: its iteration runs N times").required();
  verb.option("--set", arguments->settings, "KEY=VALUE of all stages; may be repeated, later ones win").repeatable();
  verb.option("--each", arguments->each,
              "KEY=VALUE,VALUE,...: a value for each GPU; GPUs with the same value are simulated together, as if all "
              "the others had it as well");
  verb.flag("--json", arguments->json, "print JSON, with every number exact");
  verb.run([arguments, &console] { run(*arguments, console); });
}

}  // namespace uvmsim
