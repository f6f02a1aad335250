// G10's workloads: the kernels.config that its gpg writes for a model and batch (kernels, operands, cycles), if given
// with the kernel times it was made of (cudnnB.txt) and its run configuration (clock, batch, GPU memory).
#include <cmath>
#include <map>
#include <optional>
#include <string>

#include "importers/importer.h"
#include "importers/lines.h"
#include "importers/text_fields.h"

namespace uvmsim {
namespace {

constexpr double kStandardGhz = 1.2;  // GPU_frequency_GHz of every configuration that G10 ships

struct Tensor {
  std::int64_t bytes = 0;
  bool global = false;
  std::size_t first = 0, last = 0;  // kernels that use it
  bool read_first = false;          // its first use reads it
};

struct Kernel {
  std::string name, layer;
  std::int64_t cycles = 0;
  std::vector<std::pair<std::int64_t, trace::Mode>> operands;  // tensor numbers
};

// Reads what stands after `key`, or nothing when the line starts otherwise.
std::optional<std::string_view> after(std::string_view line, std::string_view key) {
  if (!line.starts_with(key)) return std::nullopt;
  return trimmed(line.substr(key.size()));
}

std::int64_t whole(std::string_view text, std::string_view what) {
  const auto value = number_of<std::int64_t>(trimmed(text));
  if (!value || *value < 0) expected(what, text);
  return *value;
}

// The text between `left` and `right`, which the line must have in this order.
std::string_view between(std::string_view line, std::string_view left, std::string_view right) {
  const std::size_t start = line.find(left);
  const std::size_t end = start == line.npos ? line.npos : line.find(right, start + left.size());
  if (end == line.npos) expected("\"" + std::string(left) + "...", line);
  return line.substr(start + left.size(), end - start - left.size());
}

// kernels.config.
class KernelList {
 public:
  void read(std::string_view line) {
    line = trimmed(line);
    if (const auto head = after(line, "Kernel ID:")) return begin(*head);
    if (line.empty() || line.starts_with("____") || line.starts_with("(")) return;  // a rule; the shape of a layer
    if (kernels.empty()) expected("\"Kernel ID: ...\"", line);
    if (const auto parent = after(line, "Parent ")) {
      kernels.back().layer = std::string(trimmed(parent->substr(parent->find("Name:") + 5))) + " " +
                             std::string(trimmed(between(*parent, "ID:", ";")));
    } else if (const auto cycles = after(line, "Execution Time:")) {
      kernels.back().cycles = whole(*cycles, "cycles");
    } else if (line == "Input Tensors:") {
      mode_ = trace::Mode::Read;
    } else if (line == "Output Tensors:") {
      mode_ = trace::Mode::Write;
    } else if (const auto tensor = after(line, "tensor")) {
      operand(*tensor);
    } else {
      expected("a line of kernels.config", line);
    }
  }

  std::vector<Kernel> kernels;
  std::map<std::int64_t, Tensor> tensors;

 private:
  void begin(std::string_view head) {
    const std::size_t comma = head.find(", Name:");
    if (comma == head.npos) expected("\"Kernel ID: n, Name: ...\"", head);
    const std::int64_t id = whole(head.substr(0, comma), "a kernel's number");
    if (id != static_cast<std::int64_t>(kernels.size()))
      expected("kernel " + std::to_string(kernels.size()), head.substr(0, comma));
    kernels.emplace_back().name = trimmed(head.substr(comma + 7));
    mode_.reset();
  }

  // "12 Is weight (global)?: 0, Size in byte: 4096, Range:0--4096"
  void operand(std::string_view text) {
    if (!mode_) expected("\"Input Tensors:\" before the first tensor", text);
    const std::int64_t id = whole(text.substr(0, text.find(' ')), "a tensor's number");
    const bool global = whole(between(text, "(global)?:", ","), "0 or 1") != 0;
    const std::int64_t bytes =
        checked(whole(between(text, "Size in byte:", ","), "bytes"), {1, trace::kMostBytes}, "a tensor's bytes");
    const std::size_t here = kernels.size() - 1;
    const auto [found, added] = tensors.try_emplace(id, Tensor{bytes, global, here, here, *mode_ == trace::Mode::Read});
    if (!added && (found->second.bytes != bytes || found->second.global != global))
      expected("tensor " + std::to_string(id) + " as it was before", text);
    found->second.last = here;
    kernels.back().operands.emplace_back(id, *mode_);
  }

  std::optional<trace::Mode> mode_;
};

// "0012 0.014336 ms": the time of one kernel, in ns.
std::int64_t time_of(std::string_view line, std::size_t kernel) {
  const auto parts = split(trimmed(line), ' ');
  if (parts.size() != 3 || parts[2] != "ms") expected("\"NUMBER TIME ms\"", line);
  if (whole(parts[0], "a kernel's number") != static_cast<std::int64_t>(kernel))
    expected("kernel " + std::to_string(kernel), parts[0]);
  const auto ms = number_of<double>(parts[1]);
  if (!ms || !(*ms >= 0 && *ms < 1e9)) expected("milliseconds", parts[1]);
  return std::llround(*ms * 1e6);
}

// The values of a run configuration, by key.
std::map<std::string, std::string> settings_of(const ImportFile& file, trace::ErrorList& errors) {
  std::map<std::string, std::string> settings;
  each_line(file, errors, [&](std::string_view line, std::int64_t) {
    line = trimmed(line);
    const std::size_t space = line.find_first_of(" \t");
    if (space != line.npos) settings[std::string(line.substr(0, space))] = trimmed(line.substr(space));
  });
  return settings;
}

class G10Importer final : public Importer {
 public:
  std::string role(std::string_view head) const override {
    const std::string_view line = trimmed(head.substr(0, head.find('\n')));
    const std::size_t first = head.find('\n');
    const std::string_view second = first == head.npos ? "" : head.substr(first + 1, 8);
    if (line.starts_with("Kernel ID: 0, Name:")) return "kernels";
    if (line.starts_with("output_folder") && head.find("num_iteration") != head.npos) return "settings";
    if (line.starts_with("tensor0 Is weight")) return second.starts_with("tensor") ? "tensors" : "intervals";
    const auto parts = split(line, ' ');
    if (parts.size() == 3 && number_of<std::int64_t>(parts[0]) == 0 && number_of<double>(parts[1]))
      return parts[2] == "ms" ? "times" : parts[2] == "B" ? "workspace" : "";
    return "";
  }

  void import(const std::vector<ImportPart>& parts, ImportBuilder& into, trace::ErrorList& errors) const override {
    const ImportFile *kernels = nullptr, *times = nullptr, *settings = nullptr;
    for (const ImportPart& part : parts) {
      const ImportFile** slot = part.role == "kernels"    ? &kernels
                                : part.role == "times"    ? &times
                                : part.role == "settings" ? &settings
                                                          : nullptr;
      if (slot == nullptr) continue;  // sizes, intervals and workspaces are in the kernels, too
      if (*slot != nullptr)
        errors.add(part.file->name(), "is a second file of " + part.role +
                                          (part.role == "times" ? "; give the times without page faults only" : ""));
      *slot = part.file;
    }
    if (kernels == nullptr) {
      errors.add(parts[0].file->name(), "expected also the kernels.config that G10's gpg writes: only it has operands");
      return;
    }
    KernelList list;
    each_line(*kernels, errors, [&](std::string_view line, std::int64_t) { list.read(line); });
    const Settings run = read_settings(settings, into, errors);
    const std::vector<std::int64_t> durations = read_durations(list.kernels, times, run.ghz, errors);
    if (!errors.empty()) return;
    describe(into, times != nullptr, run.ghz);
    put(list, durations, into);
  }

 private:
  struct Settings {
    double ghz = kStandardGhz;
  };

  static Settings read_settings(const ImportFile* file, ImportBuilder& into, trace::ErrorList& errors) {
    Settings run;
    if (file == nullptr) return run;
    const auto settings = settings_of(*file, errors);
    const auto number = [&](const std::string& key, double standard, double most) {
      const auto found = settings.find(key);
      if (found == settings.end()) return standard;
      const auto value = number_of<double>(found->second);
      if (value && *value > 0 && *value <= most) return *value;
      errors.add(file->name(), key + ": expected a number above 0, found " + in_quotes(found->second));
      return standard;
    };
    run.ghz = number("GPU_frequency_GHz", kStandardGhz, 100);
    const double batch = number("batch_size", 0, 1e9);
    into.device(0, {"", static_cast<std::int64_t>(number("GPU_memory_size_GB", 0, 1e4) * 1073741824.0)});
    into.header().samples = batch;
    if (batch > 0) into.header().sample_unit = "samples";
    if (const auto net = settings.find("nn_model_input_file"); net != settings.end()) {
      std::string name = net->second.substr(net->second.rfind('/') + 1);
      if (name.ends_with(".txt")) name.resize(name.size() - 4);
      into.header().name = name + (batch > 0 ? ", batch " + std::to_string(std::llround(batch)) : "");
    }
    return run;
  }

  static std::vector<std::int64_t> read_durations(const std::vector<Kernel>& kernels, const ImportFile* times,
                                                  double ghz, trace::ErrorList& errors) {
    std::vector<std::int64_t> durations;
    if (times != nullptr) {
      each_line(*times, errors, [&](std::string_view line, std::int64_t) {
        if (!trimmed(line).empty()) durations.push_back(time_of(line, durations.size()));
      });
      if (durations.size() != kernels.size())
        errors.add(times->name(), "expected the times of " + std::to_string(kernels.size()) + " kernels, found " +
                                      std::to_string(durations.size()));
      return durations;
    }
    for (const Kernel& kernel : kernels)
      durations.push_back(std::llround(static_cast<double>(std::min(kernel.cycles, trace::kMostNanoseconds)) / ghz));
    return durations;
  }

  static void describe(ImportBuilder& into, bool times, double ghz) {
    trace::Header& header = into.header();
    header.provenance = "kernels.config of G10's gpg; one iteration";
    header.durations = "the profile in G10's inputs, without page faults: ";
    header.durations += times ? "ms as profiled" : "cycles at " + std::to_string(ghz).substr(0, 5) + " GHz";
    header.durations += "; of the published files most batch sizes are interpolated between others";
    header.operands_status = "exact";
  }

  static void put(const KernelList& list, const std::vector<std::int64_t>& durations, ImportBuilder& into) {
    std::map<std::int64_t, trace::TensorId> live;
    const auto allocate = [&](std::int64_t number, const Tensor& tensor) {
      const TensorKind kind = tensor.global       ? TensorKind::Param
                              : tensor.read_first ? TensorKind::Input
                                                  : TensorKind::Other;
      live[number] = into.allocate(tensor.bytes, {.kind = kind});
    };
    for (const auto& [number, tensor] : list.tensors) {
      if (tensor.global)
        allocate(number, tensor);
      else if (tensor.read_first)
        into.unknown("tensors: read before any kernel writes them; who fills them is not said");
    }
    into.iteration();
    std::string layer;
    for (std::size_t i = 0; i < list.kernels.size(); ++i) {
      const Kernel& kernel = list.kernels[i];
      if (kernel.layer != layer) into.layer(layer = kernel.layer);
      std::vector<trace::Access> operands;
      for (const auto& [number, mode] : kernel.operands) {
        if (!live.contains(number)) allocate(number, list.tensors.at(number));
        operands.push_back({.tensor = live.at(number), .mode = mode});
      }
      into.kernel({.name = kernel.name, .duration_ns = durations[i]}, std::move(operands));
      for (const auto& [number, mode] : kernel.operands) {
        const Tensor& tensor = list.tensors.at(number);
        if (tensor.global || tensor.last != i || !live.contains(number)) continue;
        into.free(live.at(number));
        live.erase(number);
      }
    }
    into.unknown("tensors: G10 names no frees; each is freed after the last kernel that uses it",
                 static_cast<std::int64_t>(list.tensors.size()));
  }
};

const bool kRegistered =
    add_plug_in<Importer, G10Importer>({.name = "g10",
                                        .summary = "kernels.config of G10, with its kernel times and run configuration",
                                        .source = "platformxlab/G10 (MICRO 2023)"});

}  // namespace
}  // namespace uvmsim
