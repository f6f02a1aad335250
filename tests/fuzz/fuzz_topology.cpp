// Any links between the nodes of a machine: refused with errors, or every GPU of it runs a program to the end.
//
// The first byte is the number of GPUs, 1..4, and whether each runs the program. Each further byte is a link: its four
// low bits the node that it comes from, its four high bits the one that it goes to.
#include <array>
#include <cstdint>
#include <string>

#include "in_child.h"
#include "study/simulate.h"

namespace {

constexpr std::array kNodes = {"memory0", "memory1", "socket0", "socket1", "switch0", "switch1", "switch2", "gpu0",
                               "gpu1",    "gpu2",    "gpu3",    "gpu4",    "nvme0",   "socket2", "x",       ""};
constexpr std::array kLinks = {"pcie3_x16", "nvlink2", "upi_triple", "ddr4_2666_x6"};

std::string link_of(std::uint8_t byte, std::size_t number) {
  return R"({"extends": "machines/links/)" + std::string(kLinks[number % kLinks.size()]) + R"(.json", "name": "l)" +
         std::to_string(number) + R"(", "from": ")" + kNodes[byte & 15U] + R"(", "to": ")" + kNodes[byte >> 4U] +
         R"("})";
}

std::string config_of(const std::uint8_t* data, std::size_t size) {
  std::string links;
  for (std::size_t i = 1; i < size && i < 32; ++i) links += (i > 1 ? ", " : "") + link_of(data[i], i);
  return R"({"machine": {"name": "fuzzed", "gpus": )" + std::to_string(1 + (data[0] & 3U)) +
         R"(, "gpu": {"extends": "machines/gpus/v100_pcie_16gb.json"},
             "host": {"extends": "machines/hosts/xeon_skylake_2s.json"}, "links": [)" +
         links + R"(]}, "driver": {"version": "418.40"},
             "workload": {"generator": "vector_add", "elements": 4096, "mode": "grid", "memory": "managed", "data_parallel": )" +
         ((data[0] & 4U) != 0 ? "true" : "false") + R"(}, "run": {"warmup": 0, "iterations": 1}})";
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace uvmsim;
  if (size == 0) return 0;
  const std::string path = std::string(UVMSIM_SOURCE_DIR) + "/configs/fuzzed.json", config = config_of(data, size);
  try {
    const Experiment experiment =
        read_experiment(path, {}, [&](const std::string& file) { return bundled_or(file, path, config); });
    run_in_child([&] { run_experiment(experiment); });
  } catch (const UserError&) {
    // Most links connect no machine; what matters is that they are refused in order.
  }
  return 0;
}
