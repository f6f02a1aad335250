// PyTorch on managed memory: an allocator for torch.cuda.CUDAPluggableAllocator. Never asks for more than the GPU has.
//   nvcc -O2 -shared -Xcompiler -fPIC -o libmanaged.so managed_allocator.cpp
#include <cstdio>
#include <cuda_runtime.h>
#include <map>
#include <mutex>

namespace {

constexpr std::size_t kReserve = std::size_t{4} << 30;  // for the context and libraries
std::mutex mutex;
std::map<void*, std::size_t> live;
std::size_t live_bytes = 0;

}  // namespace

extern "C" void* managed_malloc(ssize_t bytes, int, cudaStream_t) {
  const std::lock_guard lock(mutex);
  std::size_t free_bytes = 0, total_bytes = 0;
  if (cudaMemGetInfo(&free_bytes, &total_bytes) != cudaSuccess ||
      live_bytes + static_cast<std::size_t>(bytes) + kReserve > total_bytes) {
    std::fprintf(stderr, "managed_malloc: refused %zd bytes beside %zu: it would oversubscribe the GPU\n", bytes,
                 live_bytes);
    return nullptr;
  }
  void* data = nullptr;
  if (cudaMallocManaged(&data, static_cast<std::size_t>(bytes)) != cudaSuccess) return nullptr;
  live[data] = static_cast<std::size_t>(bytes);
  live_bytes += static_cast<std::size_t>(bytes);
  return data;
}

extern "C" void managed_free(void* data, ssize_t, int, cudaStream_t) {
  const std::lock_guard lock(mutex);
  const auto at = live.find(data);
  if (at != live.end()) {
    live_bytes -= at->second;
    live.erase(at);
  }
  cudaFree(data);
}

// Moves all of it to the host; returns the bytes.
extern "C" unsigned long long managed_to_host() {
  const std::lock_guard lock(mutex);
  for (const auto& [data, bytes] : live) {
#if CUDART_VERSION >= 13000
    cudaMemLocation host{};
    host.type = cudaMemLocationTypeHost;
    cudaMemPrefetchAsync(data, bytes, host, 0, nullptr);
#else
    cudaMemPrefetchAsync(data, bytes, cudaCpuDeviceId, nullptr);
#endif
  }
  cudaDeviceSynchronize();
  return live_bytes;
}
