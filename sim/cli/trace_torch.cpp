#include "cli/trace_torch.h"

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <memory>
#include <ostream>

#include "base/printable.h"
#include "base/user_error.h"
#include "cli/config_files.h"
#include "cli/output_file.h"
#include "importers/torch_operators.h"
#include "study/child_program.h"
#include "study/temporary_folder.h"
#include "trace/writer.h"

namespace uvmsim {
namespace {

namespace fs = std::filesystem;

struct TorchArguments {
  std::string script, out, gpu = "v100", python = "python3";
  std::vector<std::string> rest;  // of the script
  int iterations = 2;
};

dnn::RooflineDevice device_of(const std::string& name) {
  const std::vector<std::string> names = dnn::roofline_device_names();
  if (std::ranges::find(names, name) != names.end()) return dnn::roofline_device(name);
  return dnn::roofline_device(bundled_gpu("--gpu", name));
}

// The Python part, and before it what the user's own environment has.
Environment environment() {
  const char* before = std::getenv("PYTHONPATH");
  const std::string own = data_folder() + "/python";
  return {{"PYTHONPATH", before == nullptr || *before == '\0' ? own : own + ":" + before},
          {"PYTHONDONTWRITEBYTECODE", "1"}};
}

// Runs the script under `python`, which writes its operators to `recorded`.
void record(const TorchArguments& arguments, const std::string& recorded) {
  if (!fs::is_regular_file(arguments.script)) throw UserError(arguments.script, "no such file");
  std::vector<std::string> command = {arguments.python,
                                      "-m",
                                      "uvmsim.torch_script",
                                      "--out",
                                      recorded,
                                      "--iterations",
                                      std::to_string(arguments.iterations),
                                      arguments.script};
  command.insert(command.end(), arguments.rest.begin(), arguments.rest.end());
  const std::optional<ProgramEnding> ending = run_child_program(command, "", environment());
  if (!ending) throw UserError("--python", "no such program: " + arguments.python);
  const bool said = !ending->by_signal && (ending->status == 0 || ending->status == 2);
  if (!said) throw UserError(arguments.script, arguments.python + " did not finish: " + ending->text());
}

std::string output_of(const TorchArguments& arguments) {
  return arguments.out.empty() ? fs::path(arguments.script).stem().string() + ".uvmtrace.zst" : arguments.out;
}

void trace_script(const TorchArguments& arguments, Console& console) {
  const dnn::RooflineDevice device = device_of(arguments.gpu);
  const TemporaryFolder folder;
  const bool recorded = arguments.script.ends_with(".jsonl");
  const std::string operators = recorded ? arguments.script : folder.file("operators.jsonl");
  if (!recorded) record(arguments, operators);
  const trace::Trace trace = read_torch_operators(ImportFile::at(operators), device);
  const std::string path = output_of(arguments);
  constexpr int kLevel = 3;
  OutputFile file(path, {arguments.script});
  write_trace(trace, file.stream(), {.zstd_level = path.ends_with(".zst") ? kLevel : 0});
  file.keep();
  console.err << printable(path) << ": " << trace.records.size() << " records, " << printable(trace.header.provenance)
              << ", kernels by the " << printable(trace.header.durations) << "\n";
  for (const std::string& unknown : trace.header.unknowns) console.err << "  unknown: " << printable(unknown) << "\n";
}

}  // namespace

void add_trace_torch(Verb trace, Console& console) {
  auto arguments = std::make_shared<TorchArguments>();
  Verb verb = trace.verb("torch", "trace a step of a PyTorch script without a GPU, weights or data");
  verb.option("script", arguments->script,
              "a script that defines step(), and model and optimizer if it has them, or calls uvmsim.trace; or the "
              ".jsonl that uvmsim.trace wrote")
      .required();
  verb.option("arguments", arguments->rest, "arguments of the script, after --");
  verb.option("--gpu", arguments->gpu,
              "the GPU whose roofline gives the durations of kernels: v100, a100, h100, h200 or a bundled machine")
      .show_default();
  verb.option("--python", arguments->python, "the Python that has the script's PyTorch").show_default();
  verb.option("--iterations", arguments->iterations, "how often step() runs; the last time counts as steady")
      .in_range(1, 100)
      .show_default();
  verb.option("-o,--output", arguments->out,
              "the file to write, compressed when its name ends in .zst; default: SCRIPT.uvmtrace.zst here");
  verb.run([arguments, &console] { trace_script(*arguments, console); });
}

}  // namespace uvmsim
