#include "study/known_operands.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <vector>

#include "trace/faulty_durations.h"
#include "workload/iterations.h"

namespace uvmsim {
namespace {

// How the program that recorded the trace records operands, too.
std::string remedy_of(const trace::Header& header) {
  if (header.generator.ends_with("import kineto"))
    return "record with torch.profiler(record_shapes=True, profile_memory=True) and an ExecutionTraceObserver, or "
           "trace "
           "the script itself: uvmsim trace torch";
  if (header.generator.ends_with("import nsight"))
    return "record with nsys profile --cuda-memory-usage=true --cuda-um-gpu-page-faults=true, or with capture/";
  return "sim/importers/IMPORTING.md says what each format records";
}

// "H100" of "NVIDIA H100 80GB HBM3", "3080" of "GeForce RTX 3080 Ti": words with a digit, but for sizes and kinds of
// memory and sockets.
std::vector<std::string> model_words(std::string_view name) {
  std::vector<std::string> words{""};
  for (const char c : name) {
    if (std::isalnum(static_cast<unsigned char>(c)) != 0)
      words.back() += static_cast<char>(std::toupper(static_cast<unsigned char>(c)));
    else
      words.emplace_back();
  }
  std::erase_if(words, [](const std::string& word) {
    constexpr std::array<std::string_view, 4> kNoModels = {"SXM", "HBM", "PCIE", "GDDR"};
    return word.find_first_of("0123456789") == word.npos || word.ends_with("GB") ||
           std::ranges::any_of(kNoModels, [&](std::string_view kind) { return word.starts_with(kind); });
  });
  return words;
}

}  // namespace

bool may_be_one_model(std::string_view name, std::string_view other) {
  const std::vector<std::string> words = model_words(name), others = model_words(other);
  return words.empty() || others.empty() ||
         std::ranges::any_of(words, [&](const std::string& word) { return std::ranges::count(others, word) > 0; });
}

std::optional<KnownOperands> known_operands(const trace::Trace& trace, const std::string& gpu) {
  const trace::Header& header = trace.header;
  if (header.operands_status.empty()) return std::nullopt;
  KnownOperands known{.status = header.operands_status};
  // What stands before the first iteration is simulated, too, but not measured.
  const std::size_t first = has_iterations(trace) ? next_iteration(trace, 0) : 0;
  for (std::size_t i = first; i < trace.records.size(); ++i) {
    const auto* kernel = std::get_if<trace::Kernel>(&trace.records[i]);
    if (kernel == nullptr) continue;
    const double seconds = static_cast<double>(kernel->duration_ns) * 1e-9;
    ++known.kernels;
    known.kernel_s += seconds;
    if (kernel->accesses.count == 0) continue;
    ++known.known_kernels;
    known.known_s += seconds;
  }
  known.enough = known.known_s >= kEnoughOperands * known.kernel_s;
  known.faulty_durations = header.durations.find(trace::kFaultyDurations) != std::string::npos;
  if (!known.enough || known.faulty_durations) known.remedy = remedy_of(header);
  if (!header.devices.empty() && !may_be_one_model(header.devices.front().name, gpu))
    known.recorded_on = header.devices.front().name;
  return known;
}

}  // namespace uvmsim
