// How fast are copies of pinned memory, to the GPU, from it, and both at once?
#include "microbench.h"

using namespace microbench;

int main(int count, char** arguments) {
  const Options options = parse(count, arguments, "how fast copies are");
  Family family(options, "copy_bandwidth", "cudaMemcpyAsync of pinned memory by size and direction",
                "\"generator\": \"memcpy\", \"sizes\": [4096], \"direction\": \"h2d\"");
  constexpr std::size_t kLargest = 256 * kMiB;
  char *host_in = nullptr, *host_out = nullptr, *device_in = nullptr, *device_out = nullptr;
  CUDA_OK(cudaMallocHost(&host_in, kLargest));
  CUDA_OK(cudaMallocHost(&host_out, kLargest));
  CUDA_OK(cudaMalloc(&device_in, kLargest));
  CUDA_OK(cudaMalloc(&device_out, kLargest));
  cudaStream_t streams[2];
  for (cudaStream_t& stream : streams) CUDA_OK(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));

  for (const std::size_t bytes : {4 * kKiB, 64 * kKiB, kMiB, 16 * kMiB, kLargest}) {
    for (const std::string direction : {"h2d", "d2h", "both"}) {
      const Sample time = repeat(options, [&] {
        return seconds([&] {
          if (direction != "d2h")
            CUDA_OK(cudaMemcpyAsync(device_in, host_in, bytes, cudaMemcpyHostToDevice, streams[0]));
          if (direction != "h2d")
            CUDA_OK(cudaMemcpyAsync(host_out, device_out, bytes, cudaMemcpyDeviceToHost, streams[1]));
        });
      });
      family.add(direction + " " + std::to_string(bytes) + " bytes",
                 "\"workload.sizes\": [" + std::to_string(bytes) + "], \"workload.direction\": \"" + direction +
                     "\", \"workload.streams\": " + (direction == "both" ? "2" : "1"),
                 "duration_s", time);
    }
  }
  family.print();
}
