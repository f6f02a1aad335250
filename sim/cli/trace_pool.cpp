#include "cli/trace_pool.h"

#include <algorithm>
#include <memory>
#include <nlohmann/json.hpp>
#include <ostream>

#include "base/json_document.h"
#include "base/number_text.h"
#include "base/printable.h"
#include "base/user_error.h"
#include "cli/config_files.h"
#include "cli/output_file.h"
#include "report/pool_curve.h"
#include "study/workload_section.h"
#include "trace/reader.h"

namespace uvmsim {
namespace {

constexpr std::size_t kRows = 24;

struct PoolArguments {
  std::string workload;
  std::vector<std::string> settings;
  std::string allocator;
  std::string machine = "v100_sxm2_32gb";
  std::string csv;
  int iterations = 1;
  bool json = false;
};

// The "workload" section that the arguments mean.
WorkloadConfig workload_of(const PoolArguments& arguments) {
  JsonValue section;
  section.type = JsonValue::Type::Object;
  const bool generator = generators().find(arguments.workload) != nullptr;
  std::vector<InputError> errors;
  if (!generator && !read_text_file(arguments.workload)) {
    throw UserError("trace pool",
                    arguments.workload + " is no file and no generator" +
                        did_you_mean(arguments.workload, generators().names(), "; see `uvmsim list generator`"));
  }
  apply_setting(section, (generator ? "generator=" : "trace=") + arguments.workload, errors);
  if (!arguments.allocator.empty()) apply_setting(section, "allocator=" + arguments.allocator, errors);
  for (const std::string& setting : arguments.settings) apply_setting(section, setting, errors);
  ResolvedConfig resolved;
  WorkloadConfig workload;
  if (errors.empty()) workload = read_workload(&section, "", errors, resolved);
  if (!errors.empty()) throw UserError("trace pool " + arguments.workload, std::move(errors));
  return workload;
}

// The memory of a bundled machine's first GPU.
void set_memory(const std::string& machine, PlacementOptions& placement) {
  const GpuSpec gpu = bundled_gpu("--machine", machine);
  placement.device_capacity = gpu.usable_memory;
  placement.gpu_memory = gpu.memory;
}

void write_csv(const std::string& path, const std::string& input, const std::vector<PoolSample>& history) {
  OutputFile file(path, {input});
  file.stream() << "index,used_bytes,pool_bytes,device\n";
  for (std::size_t i = 0; i < history.size(); ++i)
    file.stream() << i + 1 << "," << history[i].live_bytes << "," << history[i].reserved_bytes << ","
                  << history[i].device << "\n";
  file.keep();
}

// The curve of one device. `ends`: with the event that found no memory.
std::string curve(const std::vector<PoolSample>& history, int device, bool ends) {
  const bool here = ends && !history.empty() && history.back().device == device;
  return pool_curve(pool_points(history, device, kRows), here ? std::ssize(history) + 1 : 0);
}

std::int64_t most_used(const std::vector<PoolSample>& history, int device) {
  std::int64_t used = 0;
  for (const PoolSample& sample : history)
    if (sample.device == device) used = std::max(used, sample.live_bytes);
  return used;
}

nlohmann::ordered_json json_of(const Program& program, const PlacementOptions& placement,
                               const std::vector<PoolSample>& history) {
  nlohmann::ordered_json devices = nlohmann::ordered_json::array();
  for (const DeviceAllocator& of : program.allocator.devices)
    devices.push_back({{"device", of.device},
                       {"most_used_bytes", most_used(history, of.device)},
                       {"most_reserved_bytes", of.peak.reserved_bytes},
                       {"driver_allocations", of.driver_allocs},
                       {"driver_frees", of.driver_frees}});
  return {{"workload", program.name},
          {"allocator", placement.allocator},
          {"memory", placement.memory},
          {"events", history.size()},
          {"devices", std::move(devices)},
          {"out_of_memory", program.out_of_memory},
          {"detail", program.out_of_memory_detail}};
}

void show_pool(const PoolArguments& arguments, Console& console) {
  WorkloadConfig workload = workload_of(arguments);
  set_memory(arguments.machine, workload.placement);
  const trace::Trace trace =
      workload.parameters ? workload.parameters->generate(arguments.iterations) : trace::read_trace(workload.trace);
  std::vector<PoolSample> history;
  const Program program = place(trace, workload.placement, &history);
  if (!arguments.csv.empty()) write_csv(arguments.csv, workload.trace, history);

  if (program.out_of_memory) console.exit = ExitCode::Incomplete;
  if (arguments.json) {
    console.out << json_of(program, workload.placement, history).dump(2) << "\n";
    return;
  }
  console.out << printable(program.name) << ", allocator " << workload.placement.allocator << ", "
              << workload.placement.memory << " memory: " << count_text(static_cast<std::int64_t>(history.size()))
              << " allocations and frees\n";
  for (const DeviceAllocator& of : program.allocator.devices) {
    console.out << "device " << of.device << ": at most " << bytes_text(most_used(history, of.device)) << " used, "
                << bytes_text(of.peak.reserved_bytes) << " held in " << count_text(of.driver_allocs - of.driver_frees)
                << " driver allocations (" << count_text(of.driver_allocs) << " made, " << count_text(of.driver_frees)
                << " freed)\n"
                << curve(history, of.device, program.out_of_memory);
  }
  if (program.out_of_memory) console.out << "out of memory: " << program.out_of_memory_detail << "\n";
}

}  // namespace

void add_trace_pool(Verb trace, Console& console) {
  auto arguments = std::make_shared<PoolArguments>();
  Verb verb =
      trace.verb("pool", "show the memory used and held after each allocation and free, without simulating time");
  verb.option("workload", arguments->workload, "a trace, plain or .zst, or a name from `uvmsim list generator`")
      .required();
  verb.option("--set", arguments->settings,
              "KEY=VALUE of the config's workload section, such as memory=device; may be repeated")
      .repeatable();
  verb.option("--allocator", arguments->allocator, "a name from `uvmsim list allocator`; default: torch_1_0");
  verb.option("--machine", arguments->machine, "a bundled machine; its GPU's memory is what cudaMalloc and pools have")
      .show_default();
  verb.option("--iterations", arguments->iterations, "of a generator").in_range(1, 1'000'000).show_default();
  verb.option("--csv", arguments->csv, "write every event to this file: index,used_bytes,pool_bytes,device");
  verb.flag("--json", arguments->json, "print one JSON object");
  verb.run([arguments, &console] { show_pool(*arguments, console); });
}

}  // namespace uvmsim
