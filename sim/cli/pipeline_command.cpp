#include "cli/pipeline_command.h"

#include <memory>
#include <ostream>

#include "base/printable.h"
#include "cli/config_files.h"
#include "study/pipeline_plan.h"

namespace uvmsim {
namespace {

struct PipelineArguments {
  ConfigArguments config;
  PipelineOptions options;
  bool json = false;
};

void plan_pipelines(const PipelineArguments& arguments, Console& console) {
  const PipelinePlan plan = pipeline_plan(read_config(arguments.config), arguments.options);
  console.out << (arguments.json ? to_json(plan) : printable_lines(to_text(plan)));
  if (!plan.choices.front().fits) console.exit = ExitCode::CheckFailed;
}

}  // namespace

void add_pipeline_command(Verb app, Console& console) {
  auto arguments = std::make_shared<PipelineArguments>();
  Verb verb = app.verb("pipeline", "find the best pipeline over several GPUs: width, depth, schedule, time and memory");
  add_config_options(verb, arguments->config);
  verb.option("--gpus", arguments->options.gpus, "use this many of the machine's GPUs; default: all").in_range(1, 64);
  verb.option("--batch", arguments->options.batch,
              "samples between two steps of the optimizer; an iteration of the workload is a micro-batch; default: "
              "four micro-batches per GPU")
      .in_range(1, std::int64_t{1} << 40);
  verb.flag("--json", arguments->json, "print one JSON object with all choices");
  verb.run([arguments, &console] { plan_pipelines(*arguments, console); });
}

}  // namespace uvmsim
