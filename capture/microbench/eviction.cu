// What does an eviction cost? Managed memory larger than what is left free is updated in place, pass after pass. Needs
// --allow-oversubscription, which can hang a GPU: never on one that is shared or lent.
#include "microbench.h"

using namespace microbench;

__global__ void update(float* data, std::size_t count) {
  const std::size_t i = blockIdx.x * static_cast<std::size_t>(blockDim.x) + threadIdx.x;
  if (i < count) data[i] += 1.0F;
}

int main(int count, char** arguments) {
  const Options options = parse(count, arguments, "what an eviction costs");
  if (!options.allow_oversubscription) {
    std::fprintf(stderr, "skipped: an eviction needs --allow-oversubscription\n");
    return kSkipped;
  }
  constexpr std::size_t kFree = 1024 * kMiB;
  std::size_t free_bytes = 0, total_bytes = 0;
  CUDA_OK(cudaMemGetInfo(&free_bytes, &total_bytes));
  void* ballast = nullptr;
  if (free_bytes > kFree) CUDA_OK(cudaMalloc(&ballast, free_bytes - kFree));
  CUDA_OK(cudaMemGetInfo(&free_bytes, &total_bytes));

  Family family(options, "eviction", "", "");
  for (const int percent : {80, 110, 125, 150}) {
    const Managed data(options, free_bytes / kBlock * static_cast<std::size_t>(percent) / 100 * kBlock);
    const std::size_t floats = data.bytes() / sizeof(float);
    const auto pass = [&] {
      update<<<static_cast<unsigned>(floats / 256), 256>>>(reinterpret_cast<float*>(data.data()), floats);
    };
    const double first = seconds(pass);
    family.note(std::to_string(percent) + " % of " + std::to_string(free_bytes) + " free bytes: first pass", {first, 0},
                "s");
    family.note(std::to_string(percent) + " %: each pass after it", repeat(options, [&] { return seconds(pass); }),
                "s");
  }
  family.print();
}
