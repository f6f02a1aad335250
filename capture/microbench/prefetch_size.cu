// How many bytes does a fault bring in? After some places of a 2 MiB block were touched, each 64 KiB of the block is
// probed, in a block of its own, by the time of one more touch: a fault takes microseconds, a resident page does not.
#include "microbench.h"

using namespace microbench;

constexpr std::size_t kUnit = 64 * kKiB;
constexpr int kUnits = static_cast<int>(kBlock / kUnit);
constexpr unsigned long long kFaultNs = 4000;

__device__ unsigned long long nanoseconds() {
  unsigned long long now;
  asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(now));
  return now;
}

// Touches `places` of each block; then one probe each: block p at unit p.
__global__ void touch(volatile char* blocks, const int* places, int count, unsigned long long* spent) {
  for (int p = 0; p < kUnits; ++p) {
    volatile char* block = blocks + p * kBlock;
    for (int i = 0; i < count; ++i) {
      block[places[i] * kUnit] = static_cast<char>(block[places[i] * kUnit] + 1);
      __threadfence_system();
    }
    const unsigned long long begin = nanoseconds();
    const char value = block[p * kUnit];
    block[p * kUnit] = static_cast<char>(value + 1);
    __threadfence_system();
    spent[p] = nanoseconds() - begin;
  }
}

static double resident_bytes(const Options& options, const std::vector<int>& places) {
  const Managed blocks(options, kUnits * kBlock);
  int* list = nullptr;
  unsigned long long* spent = nullptr;
  CUDA_OK(cudaMalloc(&list, places.size() * sizeof(int)));
  CUDA_OK(cudaMalloc(&spent, kUnits * sizeof *spent));
  CUDA_OK(cudaMemcpy(list, places.data(), places.size() * sizeof(int), cudaMemcpyHostToDevice));
  touch<<<1, 1>>>(blocks.data(), list, static_cast<int>(places.size()), spent);
  CUDA_OK(cudaGetLastError());
  unsigned long long host[kUnits];
  CUDA_OK(cudaMemcpy(host, spent, sizeof host, cudaMemcpyDeviceToHost));
  CUDA_OK(cudaFree(list));
  CUDA_OK(cudaFree(spent));
  return static_cast<double>(kUnit) *
         static_cast<double>(std::count_if(host, host + kUnits, [](unsigned long long ns) { return ns < kFaultNs; }));
}

int main(int count, char** arguments) {
  const Options options = parse(count, arguments, "how many bytes a fault brings in");
  Family family(options, "prefetch_size", "Bytes of a 2 MiB block that are resident after some touches",
                "\"generator\": \"page_touch\", \"size\": \"2 MiB\", \"order\": [0], \"allocator\": \"none\", "
                "\"memory\": \"managed\"");
  const std::vector<std::vector<int>> orders = {{0},     {0, 1},    {0, 1, 2},    {0, 1, 2, 4},    {0, 1, 2, 4, 8},
                                                {1, 3},  {1, 3, 5}, {1, 3, 5, 7}, {1, 3, 5, 7, 0}, {31},
                                                {31, 0}, {16, 8, 4}};
  for (const std::vector<int>& order : orders) {
    std::string list;
    for (const int place : order) list += (list.empty() ? "" : ", ") + std::to_string(place);
    family.add("touches " + list, "\"workload.order\": [" + list + "]", "h2d_bytes",
               repeat(options, [&] { return resident_bytes(options, order); }), "B");
  }
  family.print();
}
