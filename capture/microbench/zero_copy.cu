// How fast does a kernel read host memory over the link, in coalesced loads of 4 and 16 bytes a thread?
#include "microbench.h"

using namespace microbench;

__device__ unsigned fold(unsigned word) { return word; }
__device__ unsigned fold(uint4 word) { return word.x ^ word.y ^ word.z ^ word.w; }

template <typename Word>
__global__ void read(const Word* data, std::size_t count, unsigned* sink) {
  const std::size_t first = blockIdx.x * static_cast<std::size_t>(blockDim.x) + threadIdx.x;
  unsigned sum = 0;
  for (std::size_t i = first; i < count; i += static_cast<std::size_t>(blockDim.x) * gridDim.x) {
    sum += fold(data[i]);
  }
  if (sum == 1) *sink = sum;
}

template <typename Word>
static Sample bandwidth(const Options& options, const void* host, std::size_t bytes, unsigned* sink) {
  return repeat(options, [&] {
    const double time =
        seconds([&] { read<<<1024, 256>>>(static_cast<const Word*>(host), bytes / sizeof(Word), sink); });
    return static_cast<double>(bytes) / time;
  });
}

int main(int count, char** arguments) {
  const Options options = parse(count, arguments, "how fast a kernel reads host memory over the link");
  constexpr std::size_t kBytes = 256 * kMiB;
  void* host = nullptr;
  unsigned* sink = nullptr;
  CUDA_OK(cudaMallocHost(&host, kBytes));
  CUDA_OK(cudaMalloc(&sink, sizeof *sink));
  Family family(options, "zero_copy", "", "");
  family.note("4-byte loads of pinned memory", bandwidth<unsigned>(options, host, kBytes, sink), "B/s");
  family.note("16-byte loads of pinned memory", bandwidth<uint4>(options, host, kBytes, sink), "B/s");
  family.print();
}
