// How long does cudaMemPrefetchAsync take, by size, to the GPU and back?
#include "microbench.h"

using namespace microbench;

static void prefetch(const Managed& data, bool to_gpu) {
#if CUDART_VERSION >= 13000
  cudaMemLocation place{};
  place.type = to_gpu ? cudaMemLocationTypeDevice : cudaMemLocationTypeHost;
  CUDA_OK(cudaMemPrefetchAsync(data.data(), data.bytes(), place, 0, nullptr));
#else
  CUDA_OK(cudaMemPrefetchAsync(data.data(), data.bytes(), to_gpu ? 0 : cudaCpuDeviceId, nullptr));
#endif
}

int main(int count, char** arguments) {
  const Options options = parse(count, arguments, "how long a prefetch takes");
  Family family(
      options, "bulk_prefetch", "cudaMemPrefetchAsync to the GPU of memory that the host wrote",
      "\"generator\": \"prefetch_stream\", \"size\": \"64 MiB\", \"pieces\": 1, \"ahead\": 1, \"cpu_init\": true");
  for (const std::size_t kib : {64, 2048, 16384, 65536, 524288, 2097152}) {
    std::vector<double> in, out;
    for (int i = 0; i < options.repeat; ++i) {
      const Managed data(options, kib * kKiB);
      in.push_back(seconds([&] { prefetch(data, true); }));
      out.push_back(seconds([&] { prefetch(data, false); }));
    }
    const std::string size = std::to_string(kib) + " KiB";
    family.add(size, "\"workload.size\": \"" + size + "\"", "transfer_s", summarize(in));
    family.note("prefetch of " + size + " to the host", summarize(out), "s");
  }
  family.print();
}
