// Do two GPUs share a link? Each copies from the host alone, then both at once, then one to the other.
#include "microbench.h"

using namespace microbench;

int main(int count, char** arguments) {
  const Options options = parse(count, arguments, "whether two GPUs share a link");
  int devices = 0;
  CUDA_OK(cudaGetDeviceCount(&devices));
  if (devices < 2) {
    std::fprintf(stderr, "skipped: there is one GPU\n");
    return kSkipped;
  }
  constexpr std::size_t kBytes = 256 * kMiB;
  char *host[2], *device[2];
  cudaStream_t stream[2];
  for (int i = 0; i < 2; ++i) {
    CUDA_OK(cudaSetDevice(i));
    CUDA_OK(cudaMallocHost(&host[i], kBytes));
    CUDA_OK(cudaMalloc(&device[i], kBytes));
    CUDA_OK(cudaStreamCreateWithFlags(&stream[i], cudaStreamNonBlocking));
  }
  const auto timed = [&](const std::function<void()>& work) {
    const auto idle = [&] {
      for (int i = 0; i < 2; ++i) CUDA_OK(cudaStreamSynchronize(stream[i]));
    };
    return repeat(options, [&] {
      idle();
      return seconds([&] {
        work();
        idle();
      });
    });
  };
  const auto in = [&](int i) {
    CUDA_OK(cudaSetDevice(i));
    CUDA_OK(cudaMemcpyAsync(device[i], host[i], kBytes, cudaMemcpyHostToDevice, stream[i]));
  };
  Family family(options, "two_gpus", "Copies of 256 MiB of one and of two GPUs",
                "\"generator\": \"concurrent_copies\", \"size\": \"256 MiB\", \"from\": [-1], \"to\": [0], "
                "\"allocator\": \"none\", \"memory\": \"managed\"");
  const auto ends = [](const char* from, const char* to) {
    return std::string("\"workload.from\": ") + from + ", \"workload.to\": " + to;
  };
  family.add("host to GPU 0", ends("[-1]", "[0]"), "duration_s", timed([&] { in(0); }));
  family.add("host to GPU 1", ends("[-1]", "[1]"), "duration_s", timed([&] { in(1); }));
  family.add("host to both", ends("[-1, -1]", "[0, 1]"), "duration_s", timed([&] {
               in(0);
               in(1);
             }));
  family.add("GPU 0 to GPU 1", ends("[0]", "[1]"), "duration_s",
             timed([&] { CUDA_OK(cudaMemcpyPeerAsync(device[1], 1, device[0], 0, kBytes, stream[0])); }));
  family.print();
}
