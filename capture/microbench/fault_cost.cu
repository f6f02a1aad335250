// What does one fault cost, the first of a process, the first of a block, and each that follows in it?
// One thread touches one byte after the other; each touch is timed on the GPU. The pages are Ganguly's P1 (ISCA 2019):
// each touch but the first lies in the half that the prefetcher has not brought in yet.
#include "microbench.h"

using namespace microbench;

constexpr int kTouches = 6;
__constant__ int order_on_device[kTouches];
constexpr int kOrder[kTouches] = {0, 1, 2, 4, 8, 16};
constexpr std::size_t kUnit = 64 * kKiB;

__device__ unsigned long long nanoseconds() {
  unsigned long long now;
  asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(now));
  return now;
}

__global__ void touch(volatile char* block, unsigned long long* spent) {
  for (int i = 0; i < kTouches; ++i) {
    const unsigned long long begin = nanoseconds();
    const char value = block[order_on_device[i] * kUnit];
    block[order_on_device[i] * kUnit] = static_cast<char>(value + 1);
    __threadfence_system();
    spent[i] = nanoseconds() - begin;
  }
}

static std::vector<double> touch_block(const Options& options, unsigned long long* spent) {
  const Managed block(options, kBlock);
  touch<<<1, 1>>>(block.data(), spent);
  CUDA_OK(cudaGetLastError());
  unsigned long long host[kTouches];
  CUDA_OK(cudaMemcpy(host, spent, sizeof host, cudaMemcpyDeviceToHost));
  std::vector<double> seconds;
  for (const unsigned long long each : host) seconds.push_back(1e-9 * static_cast<double>(each));
  return seconds;
}

static std::string order_of(int touches) {
  std::string list;
  for (int i = 0; i < touches; ++i) list += (i == 0 ? "" : ", ") + std::to_string(kOrder[i]);
  return "[" + list + "]";
}

int main(int count, char** arguments) {
  const Options options = parse(count, arguments, "what a lone fault costs");
  CUDA_OK(cudaMemcpyToSymbol(order_on_device, kOrder, sizeof kOrder));
  unsigned long long* spent = nullptr;
  CUDA_OK(cudaMalloc(&spent, kTouches * sizeof *spent));

  Family family(options, "fault_cost", "Time of a lone fault after the first of a block",
                "\"generator\": \"page_touch\", \"size\": \"2 MiB\", \"order\": [0], \"allocator\": \"none\", "
                "\"memory\": \"managed\"");
  family.note("first fault of the process", {touch_block(options, spent)[0], 0}, "s");
  std::vector<std::vector<double>> steps(kTouches);
  for (int i = 0; i < std::max(options.repeat, 20); ++i) {
    const std::vector<double> seconds = touch_block(options, spent);
    for (int step = 0; step < kTouches; ++step) steps[step].push_back(seconds[step]);
  }
  family.note("first fault of a block", summarize(steps[0]), "s");
  for (int step = 1; step < kTouches; ++step) {
    family.add_runs("touch " + std::to_string(step + 1),
                    "\"with\": {\"workload.order\": " + order_of(step + 1) +
                        "}, \"without\": {\"workload.order\": " + order_of(step) + "}",
                    "with.duration_s - without.duration_s", summarize(steps[step]));
  }
  family.print();
}
