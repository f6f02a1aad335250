// Any bytes as a trace: refused with errors, or run to the end on a card that it may not fit.
#include <algorithm>
#include <cstdint>
#include <sstream>
#include <string>
#include <variant>

#include "in_child.h"
#include "study/simulate.h"
#include "study/temporary_folder.h"
#include "trace/header.h"
#include "trace/reader.h"

namespace {

using namespace uvmsim;

// What is simulated within seconds: most mutations of a number only make it larger.
bool is_small(const trace::Trace& trace) {
  constexpr std::int64_t kBytes = 1 << 28, kThreads = 1 << 20, kPasses = 100;
  std::int64_t bytes = 0;
  for (const trace::Record& record : trace.records) {
    if (const auto* tensor = std::get_if<trace::Alloc>(&record)) bytes += std::min(tensor->bytes, kBytes);
    const auto* kernel = std::get_if<trace::Kernel>(&record);
    if (kernel != nullptr && kernel->grid > kThreads / std::max<std::int64_t>(kernel->block, 1)) return false;
  }
  return bytes < kBytes &&
         std::ranges::all_of(trace.accesses, [](const trace::Access& a) { return a.passes < kPasses; });
}

void run_to_the_end(const std::string& trace, bool several_devices) {
  const std::string path = std::string(UVMSIM_SOURCE_DIR) + "/configs/fuzzed.json";
  const std::string config =
      R"({"machine": {"extends": "machines/)" + std::string(several_devices ? "dgx1_v100_16gb" : "v100_pcie_16gb") +
      R"(.json", "gpu": {"memory": "64 MiB", "usable_memory": "64 MiB"}}, "driver": {"version": "418.40"},
          "workload": {"trace": ")" +
      trace + R"(", "memory": "managed"}, "run": {"warmup": 0, "iterations": 1, "audit": true}})";
  run_experiment(read_experiment(path, {}, [&](const std::string& file) { return bundled_or(file, path, config); }));
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  static const TemporaryFolder folder;
  const std::string bytes(reinterpret_cast<const char*>(data), size);
  std::istringstream in(bytes);
  try {
    const trace::Trace trace = trace::read_trace(in, "input");
    if (!is_small(trace)) return 0;
    folder.write("input", bytes);
    const bool several = trace::device_count(trace.header) > 1;
    run_in_child([&] { run_to_the_end(folder.file("input"), several); });
  } catch (const UserError&) {
    // fuzz_trace looks at how bytes are refused.
  }
  return 0;
}
