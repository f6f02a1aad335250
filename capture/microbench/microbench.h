#pragma once

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <cuda_runtime.h>
#include <dlfcn.h>
#include <fstream>
#include <functional>
#include <memory>
#include <string>
#include <vector>

// What the micro-benchmarks share: options, timing, the guard against oversubscription, and the case file they print.
namespace microbench {

#define CUDA_OK(call) ::microbench::require((call), #call, __FILE__, __LINE__)

inline void require(cudaError_t result, const char* call, const char* file, int line) {
  if (result == cudaSuccess) return;
  std::fprintf(stderr, "%s:%d: %s: %s\n", file, line, call, cudaGetErrorString(result));
  std::exit(1);
}

constexpr std::size_t kKiB = 1024;
constexpr std::size_t kMiB = 1024 * kKiB;
constexpr std::size_t kPage = 4 * kKiB;
constexpr std::size_t kBlock = 2 * kMiB;  // what UVM manages as one

// Exit status of a benchmark that this machine cannot run.
constexpr int kSkipped = 77;

struct Options {
  int repeat = 5;
  bool allow_oversubscription = false;
  std::string machine = "machines/h200.json";  // the config that the cases are predicted with
};

inline Options parse(int count, char** arguments, const char* question) {
  Options options;
  for (int i = 1; i < count; ++i) {
    const std::string argument = arguments[i];
    if (argument == "--allow-oversubscription") {
      options.allow_oversubscription = true;
    } else if (argument == "--repeat" && i + 1 < count && std::atoi(arguments[i + 1]) > 0) {
      options.repeat = std::atoi(arguments[++i]);
    } else if (argument == "--machine" && i + 1 < count) {
      options.machine = arguments[++i];
    } else {
      std::fprintf(stderr,
                   "%s: %s\n"
                   "  --repeat N                runs of each measurement; the median is printed (5)\n"
                   "  --machine FILE            config of this machine for the cases (machines/h200.json)\n"
                   "  --allow-oversubscription  may ask for more managed memory than is free: can hang a shared GPU\n",
                   arguments[0], question);
      std::exit(argument == "--help" ? 0 : 2);
    }
  }
  int devices = 0;
  if (cudaGetDeviceCount(&devices) != cudaSuccess || devices == 0) {
    std::fprintf(stderr, "%s: skipped: no CUDA device\n", arguments[0]);
    std::exit(kSkipped);
  }
  CUDA_OK(cudaFree(nullptr));
  return options;
}

// Ends the program rather than take more managed memory than is free, less a reserve for the context.
inline void guard(const Options& options, std::size_t managed_bytes) {
  constexpr std::size_t kReserve = 512 * kMiB;
  std::size_t free_bytes = 0, total_bytes = 0;
  CUDA_OK(cudaMemGetInfo(&free_bytes, &total_bytes));
  if (options.allow_oversubscription || managed_bytes + kReserve <= free_bytes) return;
  std::fprintf(stderr, "refused: %zu bytes of managed memory, %zu are free; see --allow-oversubscription\n",
               managed_bytes, free_bytes);
  std::exit(2);
}

// Managed memory that is written by the host first, or touched by nobody.
class Managed {
 public:
  Managed(const Options& options, std::size_t bytes, bool host_writes = true) : bytes_(bytes) {
    guard(options, bytes);
    CUDA_OK(cudaMallocManaged(&data_, bytes));
    if (host_writes) std::memset(data_, 1, bytes);
  }
  ~Managed() { cudaFree(data_); }
  Managed(const Managed&) = delete;
  Managed& operator=(const Managed&) = delete;
  char* data() const { return static_cast<char*>(data_); }
  std::size_t bytes() const { return bytes_; }

 private:
  void* data_ = nullptr;
  std::size_t bytes_;
};

inline void advise(const Managed& data, cudaMemoryAdvise advice, bool host) {
#if CUDART_VERSION >= 13000
  cudaMemLocation place{};
  place.type = host ? cudaMemLocationTypeHost : cudaMemLocationTypeDevice;
  CUDA_OK(cudaMemAdvise(data.data(), data.bytes(), advice, place));
#else
  CUDA_OK(cudaMemAdvise(data.data(), data.bytes(), advice, host ? cudaCpuDeviceId : 0));
#endif
}

inline void prefetch(char* data, std::size_t bytes, bool to_gpu, cudaStream_t stream = nullptr) {
#if CUDART_VERSION >= 13000
  cudaMemLocation place{};
  place.type = to_gpu ? cudaMemLocationTypeDevice : cudaMemLocationTypeHost;
  CUDA_OK(cudaMemPrefetchAsync(data, bytes, place, 0, stream));
#else
  CUDA_OK(cudaMemPrefetchAsync(data, bytes, to_gpu ? 0 : cudaCpuDeviceId, stream));
#endif
}

// Seconds on the host from the call to the moment when the device is idle.
inline double seconds(const std::function<void()>& work) {
  CUDA_OK(cudaDeviceSynchronize());
  const auto begin = std::chrono::steady_clock::now();
  work();
  CUDA_OK(cudaGetLastError());
  CUDA_OK(cudaDeviceSynchronize());
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
}

// Names what follows in the recording of a preloaded libuvmevents.so (capture/uvmevents); else nothing.
inline void mark(const std::string& text) {
  using Mark = void (*)(const char*);
  static const Mark recorded = reinterpret_cast<Mark>(dlsym(RTLD_DEFAULT, "uvmevents_mark"));
  if (recorded != nullptr) recorded(text.c_str());
}

// Marks where a kernel begins: its name, and where its arrays lie.
inline void mark_begin(const std::string& name, const std::vector<const void*>& arrays) {
  std::string text = "begin " + name;
  for (const void* array : arrays) {
    char address[32];
    std::snprintf(address, sizeof address, " %llx", reinterpret_cast<unsigned long long>(array));
    text += address;
  }
  mark(text);
}

// A measured value: the median, and half the spread of the middle four fifths as a share of it.
struct Sample {
  double median = 0;
  double uncertainty = 0;
};

inline Sample summarize(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  const std::size_t n = values.size();
  const double median = n % 2 == 1 ? values[n / 2] : (values[n / 2 - 1] + values[n / 2]) / 2;
  const double low = values[n / 10], high = values[n - 1 - n / 10];
  // Case files take shares below 1.
  return {median, median > 0 ? std::min(0.99, (high - low) / 2 / median) : 0};
}

// The first run loads the kernel and is not counted.
inline Sample repeat(const Options& options, const std::function<double()>& measure) {
  std::vector<double> values;
  measure();
  for (int i = 0; i < options.repeat; ++i) values.push_back(measure());
  return summarize(values);
}

inline std::string first_line(const std::string& path) {
  std::ifstream file(path);
  std::string line;
  std::getline(file, line);
  return line;
}

inline int attribute(cudaDeviceAttr which) {
  int value = 0;
  CUDA_OK(cudaDeviceGetAttribute(&value, which, 0));
  return value;
}

// One line of facts: GPU, driver, PCIe, clocks.
inline std::string facts() {
  cudaDeviceProp properties{};
  CUDA_OK(cudaGetDeviceProperties(&properties, 0));
  char bus[32] = "";
  CUDA_OK(cudaDeviceGetPCIBusId(bus, sizeof bus, 0));
  std::string address = bus;
  std::transform(address.begin(), address.end(), address.begin(), [](unsigned char c) { return std::tolower(c); });
  const std::string device = "/sys/bus/pci/devices/" + address + "/";
  const std::string driver = first_line("/sys/module/nvidia/version");
  int runtime = 0, supported = 0;
  CUDA_OK(cudaRuntimeGetVersion(&runtime));
  CUDA_OK(cudaDriverGetVersion(&supported));
  return std::string(properties.name) + ", " + std::to_string(properties.totalGlobalMem / kMiB) + " MiB; driver " +
         (driver.empty() ? "unknown" : driver) + ", CUDA " + std::to_string(runtime) + " of " +
         std::to_string(supported) + "; PCIe " + first_line(device + "current_link_speed") + " x" +
         first_line(device + "current_link_width") + " (at most " + first_line(device + "max_link_speed") + " x" +
         first_line(device + "max_link_width") + "); SM " + std::to_string(attribute(cudaDevAttrClockRate) / 1000) +
         " MHz, memory " + std::to_string(attribute(cudaDevAttrMemoryClockRate) / 1000) + " MHz, " +
         std::to_string(properties.multiProcessorCount) + " SMs";
}

// Collects cases and prints them as a file for `uvmsim validate` (validation/FORMAT.md).
class Family {
 public:
  // workload: the members of the config's "workload" section.
  Family(const Options& options, std::string name, std::string title, std::string workload)
      : machine_(options.machine), name_(std::move(name)), title_(std::move(title)), workload_(std::move(workload)) {
    program_ = "capture/microbench/" + name_ + ".cu";
  }

  // For what is no micro-benchmark of one iteration.
  void measured_by(std::string program, int warmup, int iterations) {
    program_ = std::move(program);
    warmup_ = warmup;
    iterations_ = iterations;
  }

  // settings: the members of "set" ("" for none). A family has cases of one or of several runs.
  void add(const std::string& name, const std::string& settings, const std::string& metric, Sample value,
           const std::string& unit = "s") {
    cases_.push_back({name, settings.empty() ? "" : "\"set\": {" + settings + "}, ", metric, unit, value});
  }
  // runs: the members of "runs"; the metric names them.
  void add_runs(const std::string& name, const std::string& runs, const std::string& metric, Sample value,
                const std::string& unit = "s") {
    cases_.push_back({name, "\"runs\": {" + runs + "}, ", metric, unit, value});
  }
  // A number that the simulator has no run for: a comment at the head of the file.
  void note(const std::string& what, Sample value, const std::string& unit) {
    notes_.push_back(what + ": " + number(value.median) + " " + unit + " (+-" + number(100 * value.uncertainty) +
                     " %)");
  }

  void print() const {
    const std::string origin = quoted(program_ + " on " + facts());
    std::printf("// %s\n", facts().c_str());
    for (const std::string& each : notes_) std::printf("// %s\n", each.c_str());
    if (cases_.empty()) return;
    std::printf(
        "{\n  \"family\": \"microbench_%s\",\n  \"title\": %s,\n  \"role\": \"validation\",\n  \"origin\": %s,\n",
        name_.c_str(), quoted(title_).c_str(), origin.c_str());
    std::printf("  \"tolerance\": {\"relative\": 0.1, \"reason\": \"one machine; the median of several runs\"},\n");
    std::printf("  \"config\": {\n    \"machine\": {\"extends\": %s},\n", quoted(machine_).c_str());
    std::printf("    \"workload\": {%s},\n", workload_.c_str());
    std::printf("    \"run\": {\"warmup\": %d, \"iterations\": %d}\n  },\n  \"cases\": [\n", warmup_, iterations_);
    for (std::size_t i = 0; i < cases_.size(); ++i) {
      const Case& each = cases_[i];
      std::printf(
          "    {\"name\": %s, %s\"measured\": [{\"metric\": %s, \"value\": %s, \"unit\": \"%s\", \"uncertainty\": %s, "
          "\"trust\": \"raw\", \"source\": %s}]}%s\n",
          quoted(each.name).c_str(), each.settings.c_str(), quoted(each.metric).c_str(),
          number(each.value.median).c_str(), each.unit.c_str(), number(each.value.uncertainty).c_str(), origin.c_str(),
          i + 1 < cases_.size() ? "," : "");
    }
    std::printf("  ]\n}\n");
  }

 private:
  struct Case {
    std::string name, settings, metric, unit;
    Sample value;
  };

  static std::string number(double value) {
    char text[32];
    std::snprintf(text, sizeof text, "%.6g", value);
    return text;
  }
  static std::string quoted(const std::string& text) {
    std::string result = "\"";
    for (const char c : text) {
      if (c == '"' || c == '\\') result += '\\';
      result += c;
    }
    return result + '"';
  }

  std::string machine_, name_, title_, workload_, program_;
  int warmup_ = 0, iterations_ = 1;
  std::vector<Case> cases_;
  std::vector<std::string> notes_;
};

}  // namespace microbench
