// Runs a script of `uvmsim trace replay-script` on a GPU and prints its time as a validation case. REPLAY.md says how
// near it comes.
#include <map>

#include "../microbench/microbench.h"
#include "script.h"

using microbench::kMiB;
using replay::Range;
using replay::Script;
using replay::Step;

namespace {

// A range where it lies in this process. At most these many a kernel; more are split over several launches.
constexpr int kRanges = 24;
struct DeviceRange {
  char* data;
  long long bytes;
  int mode;
  int passes;
};
struct DeviceRanges {
  DeviceRange range[kRanges];
  int count;
};

__device__ unsigned long long nanoseconds() {
  unsigned long long now;
  asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(now));
  return now;
}

// Touches every 32-byte sector of the ranges, then computes until `duration` after its own begin. Writes store what is
// there already where it was read, else a constant.
__global__ void stand_in(DeviceRanges ranges, unsigned long long duration, unsigned* sink) {
  constexpr long long kSector = 32;
  const unsigned long long begin = nanoseconds();
  const long long first = blockIdx.x * static_cast<long long>(blockDim.x) + threadIdx.x;
  const long long stride = static_cast<long long>(blockDim.x) * gridDim.x;
  unsigned sum = 0;
  for (int r = 0; r < ranges.count; ++r) {
    const DeviceRange& range = ranges.range[r];
    for (int pass = 0; pass < range.passes; ++pass) {
      for (long long offset = first * kSector; offset < range.bytes; offset += stride * kSector) {
        volatile char* place = range.data + offset;
        char value = 0;
        if ((range.mode & 1) != 0) value = *place;
        if ((range.mode & 2) != 0) *place = value;
        sum += static_cast<unsigned char>(value);
      }
    }
  }
  while (nanoseconds() - begin < duration) {
  }
  if (sum == 0xFFFFFFFFU) *sink = sum;
}

class Player {
 public:
  Player(const microbench::Options& options, const Script& script) : script_(script) {
    microbench::guard(options, static_cast<std::size_t>(script.peak_managed_bytes));
    CUDA_OK(cudaMalloc(&sink_, sizeof *sink_));
    std::int64_t largest = 1;
    for (const Step& step : script.steps) {
      if (step.verb == Step::Verb::kCopy) largest = std::max(largest, step.bytes);
    }
    CUDA_OK(cudaMallocHost(&host_, static_cast<std::size_t>(largest)));
    CUDA_OK(cudaMalloc(&device_, static_cast<std::size_t>(largest)));
    pageable_.resize(static_cast<std::size_t>(largest));
    int processors = 0, threads = 0;
    CUDA_OK(cudaDeviceGetAttribute(&processors, cudaDevAttrMultiProcessorCount, 0));
    CUDA_OK(cudaDeviceGetAttribute(&threads, cudaDevAttrMaxThreadsPerMultiProcessor, 0));
    blocks_ = static_cast<unsigned>(processors * threads / kThreads);
  }

  // Seconds of each iteration.
  std::vector<double> play() {
    std::vector<double> times;
    std::chrono::steady_clock::time_point begin;
    bool in_iteration = false;
    const auto end_iteration = [&] {
      CUDA_OK(cudaDeviceSynchronize());
      if (in_iteration)
        times.push_back(std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count());
    };
    for (const Step& step : script_.steps) {
      if (step.verb == Step::Verb::kIteration) {
        end_iteration();
        in_iteration = true;
        begin = std::chrono::steady_clock::now();
      } else {
        run(step);
      }
    }
    end_iteration();
    return times;
  }

 private:
  static constexpr unsigned kThreads = 256;

  struct Buffer {
    char* data;
    std::int64_t bytes;
  };

  cudaStream_t stream(std::int64_t id) {
    const auto [place, is_new] = streams_.try_emplace(id);
    if (is_new) CUDA_OK(cudaStreamCreateWithFlags(&place->second, cudaStreamNonBlocking));
    return place->second;
  }

  cudaEvent_t event(std::int64_t id) {
    const auto [place, is_new] = events_.try_emplace(id);
    if (is_new) CUDA_OK(cudaEventCreateWithFlags(&place->second, cudaEventDisableTiming));
    return place->second;
  }

  // Where an address of the script lies here.
  char* at(std::uint64_t address, std::int64_t bytes) const {
    auto after = buffers_.upper_bound(address);
    if (after == buffers_.begin()) fail(address);
    const auto& [start, buffer] = *--after;
    const auto offset = static_cast<std::int64_t>(address - start);
    if (offset + bytes > buffer.bytes) fail(address);
    return buffer.data + offset;
  }

  [[noreturn]] static void fail(std::uint64_t address) {
    std::fprintf(stderr, "the script uses %llu, which no allocation holds\n", static_cast<unsigned long long>(address));
    std::exit(1);
  }

  static void spin(std::int64_t ns) {
    const auto until = std::chrono::steady_clock::now() + std::chrono::nanoseconds(ns);
    while (std::chrono::steady_clock::now() < until) {
    }
  }

  void launch(const Step& step) {
    spin(step.gap_ns);
    std::size_t next = 0;
    do {
      DeviceRanges ranges{};
      for (; ranges.count < kRanges && next < step.ranges.size(); ++next) {
        const Range& range = step.ranges[next];
        ranges.range[ranges.count++] = {at(range.address, range.bytes), range.bytes, range.mode, range.passes};
      }
      const bool is_last = next == step.ranges.size();
      const auto duration = static_cast<unsigned long long>(is_last ? step.duration_ns : 0);
      stand_in<<<blocks_, kThreads, 0, stream(step.stream)>>>(ranges, duration, sink_);
    } while (next < step.ranges.size());
    CUDA_OK(cudaGetLastError());
  }

  void copy(const Step& step) {
    const auto bytes = static_cast<std::size_t>(step.bytes);
    char* host = step.pinned ? host_ : pageable_.data();
    switch (step.direction) {
      case 0:
        CUDA_OK(cudaMemcpyAsync(device_, host, bytes, cudaMemcpyHostToDevice, stream(step.stream)));
        break;
      case 1:
        CUDA_OK(cudaMemcpyAsync(host, device_, bytes, cudaMemcpyDeviceToHost, stream(step.stream)));
        break;
      case 4:
        CUDA_OK(cudaMemsetAsync(device_, 0, bytes, stream(step.stream)));
        break;
      default:
        CUDA_OK(cudaMemcpyAsync(device_, device_, bytes, cudaMemcpyDeviceToDevice, stream(step.stream)));
        break;
    }
    if (!step.asynchronous) CUDA_OK(cudaStreamSynchronize(stream(step.stream)));
  }

  void host(const Step& step) {
    for (const Range& range : step.ranges) {
      volatile char* data = at(range.address, range.bytes);
      for (std::int64_t offset = 0; offset < range.bytes; offset += 4096) {
        const char value = range.reads() ? data[offset] : static_cast<char>(0);
        if (range.writes()) data[offset] = value;
      }
    }
    spin(step.duration_ns);
  }

  void prefetch(const Step& step) {
    char* data = at(step.address, step.bytes);
    const auto bytes = static_cast<std::size_t>(step.bytes);
#if CUDART_VERSION >= 13000
    CUDA_OK(cudaMemPrefetchAsync(data, bytes, location(step.to), 0, stream(step.stream)));
#else
    CUDA_OK(cudaMemPrefetchAsync(data, bytes, step.to < 0 ? cudaCpuDeviceId : 0, stream(step.stream)));
#endif
  }

  void advise(const Step& step) {
    static constexpr cudaMemoryAdvise kSet[] = {cudaMemAdviseSetReadMostly, cudaMemAdviseSetPreferredLocation,
                                                cudaMemAdviseSetAccessedBy};
    static constexpr cudaMemoryAdvise kUnset[] = {cudaMemAdviseUnsetReadMostly, cudaMemAdviseUnsetPreferredLocation,
                                                  cudaMemAdviseUnsetAccessedBy};
    const int kind = std::abs(step.advice) - 1;
    if (kind < 0 || kind > 2) return;
    const cudaMemoryAdvise advice = step.advice > 0 ? kSet[kind] : kUnset[kind];
    char* data = at(step.address, step.bytes);
#if CUDART_VERSION >= 13000
    CUDA_OK(cudaMemAdvise(data, static_cast<std::size_t>(step.bytes), advice, location(step.to)));
#else
    CUDA_OK(cudaMemAdvise(data, static_cast<std::size_t>(step.bytes), advice, step.to < 0 ? cudaCpuDeviceId : 0));
#endif
  }

  // Before CUDA 13 there is no discard: it is counted and left out.
  void discard(const Step& step) {
#if CUDART_VERSION >= 13000
    void* data = at(step.address, step.bytes);
    std::size_t bytes = static_cast<std::size_t>(step.bytes);
    CUDA_OK(cudaMemDiscardBatchAsync(&data, &bytes, 1, 0, stream(step.stream)));
#else
    if (discards_left_out_++ == 0) std::fprintf(stderr, "discards are left out: they need CUDA 13\n");
    static_cast<void>(step);
#endif
  }

#if CUDART_VERSION >= 13000
  static cudaMemLocation location(int to) {
    cudaMemLocation place{};
    place.type = to < 0 ? cudaMemLocationTypeHost : cudaMemLocationTypeDevice;
    return place;
  }
#endif

  void run(const Step& step) {
    switch (step.verb) {
      case Step::Verb::kAlloc: {
        void* data = nullptr;
        const auto bytes = static_cast<std::size_t>(step.bytes);
        CUDA_OK(step.managed ? cudaMallocManaged(&data, bytes) : cudaMalloc(&data, bytes));
        buffers_[step.address] = {static_cast<char*>(data), step.bytes};
        break;
      }
      case Step::Verb::kFree:
        CUDA_OK(cudaFree(at(step.address, 0)));
        buffers_.erase(step.address);
        break;
      case Step::Verb::kKernel:
        launch(step);
        break;
      case Step::Verb::kCopy:
        copy(step);
        break;
      case Step::Verb::kPrefetch:
        prefetch(step);
        break;
      case Step::Verb::kDiscard:
        discard(step);
        break;
      case Step::Verb::kAdvise:
        advise(step);
        break;
      case Step::Verb::kRecord:
        CUDA_OK(cudaEventRecord(event(step.event), stream(step.stream)));
        break;
      case Step::Verb::kWait:
        CUDA_OK(cudaStreamWaitEvent(stream(step.stream), event(step.event), 0));
        break;
      case Step::Verb::kSync:
        CUDA_OK(step.stream < 0 ? cudaDeviceSynchronize() : cudaStreamSynchronize(stream(step.stream)));
        break;
      case Step::Verb::kHost:
        host(step);
        break;
      case Step::Verb::kIteration:
        break;
    }
  }

  const Script& script_;
  unsigned* sink_ = nullptr;
  char* host_ = nullptr;
  char* device_ = nullptr;
  std::vector<char> pageable_;
  unsigned blocks_ = 1;
  std::map<std::uint64_t, Buffer> buffers_;
  std::map<std::int64_t, cudaStream_t> streams_;
  std::map<std::int64_t, cudaEvent_t> events_;
  int discards_left_out_ = 0;
};

// Takes "NAME VALUE" out of the arguments.
std::string take(std::vector<char*>& arguments, const std::string& name, const std::string& otherwise) {
  for (std::size_t i = 1; i + 1 < arguments.size(); ++i) {
    if (name != arguments[i]) continue;
    const std::string value = arguments[i + 1];
    arguments.erase(arguments.begin() + static_cast<std::ptrdiff_t>(i),
                    arguments.begin() + static_cast<std::ptrdiff_t>(i) + 2);
    return value;
  }
  return otherwise;
}

}  // namespace

int main(int count, char** arguments) {
  std::vector<char*> rest(arguments, arguments + count);
  const std::string trace = take(rest, "--trace", "trace.uvmtrace");
  if (rest.size() < 2 || rest[1][0] == '-') {
    std::fprintf(stderr, "usage: replay SCRIPT [--trace FILE] [--machine FILE] [--allow-oversubscription]\n");
    return 2;
  }
  const std::string path = rest[1];
  rest.erase(rest.begin() + 1);
  Script script;
  try {
    std::ifstream file(path);
    script = replay::read_script(file);
  } catch (const std::runtime_error& error) {
    std::fprintf(stderr, "%s: %s\n", path.c_str(), error.what());
    return 2;
  }
  const microbench::Options options = microbench::parse(static_cast<int>(rest.size()), rest.data(), "replays a script");
  std::vector<double> times = Player(options, script).play();
  const std::size_t warmup = times.size() > 1 ? 1 : 0;
  const double first = times.front();
  times.erase(times.begin(), times.begin() + static_cast<std::ptrdiff_t>(warmup));

  microbench::Family family(options, "replay", "Replay of " + script.name,
                            "\"trace\": \"" + trace + "\", \"allocator\": \"" + script.allocator +
                                "\", \"memory\": \"" + script.memory + "\"");
  family.measured_by("capture/replay/replay.cu", static_cast<int>(warmup), static_cast<int>(times.size()));
  family.add(script.name, "", "duration_s", microbench::summarize(times));
  // On managed memory: everything is touched for the first time.
  if (warmup > 0)
    family.add(script.name + ", first iteration", "\"run.warmup\": 0, \"run.iterations\": 1", "duration_s", {first, 0});
  family.print();
}
