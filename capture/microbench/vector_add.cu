// How do faults combine within a warp, a block and the GPU? c = a + b by one thread, one block or a grid, over arrays
// that the host wrote: NVIDIA's teaching example, which the simulator has for older GPUs. Under `uvmcap --um` the fault
// groups are recorded too.
#include "microbench.h"

using namespace microbench;

__global__ void add(const float* a, const float* b, float* c, std::size_t count) {
  const std::size_t first = blockIdx.x * static_cast<std::size_t>(blockDim.x) + threadIdx.x;
  const std::size_t stride = static_cast<std::size_t>(blockDim.x) * gridDim.x;
  for (std::size_t i = first; i < count; i += stride) c[i] = a[i] + b[i];
}

int main(int count, char** arguments) {
  const Options options = parse(count, arguments, "how faults combine in a warp, a block and the GPU");
  constexpr std::size_t kBytes = 32 * kMiB;
  Family family(options, "vector_add", "c = a + b, 3 x 32 MiB written by the host",
                "\"generator\": \"vector_add\", \"mode\": \"thread\", \"elements\": 8388608, \"cpu_init\": true, "
                "\"init_result\": true, \"allocator\": \"none\", \"memory\": \"managed\"");
  struct Shape {
    const char* mode;
    unsigned blocks, threads;
  };
  for (const Shape& shape : {Shape{"thread", 1, 1}, Shape{"block", 1, 256}, Shape{"grid", 0, 256}}) {
    const std::size_t floats = kBytes / sizeof(float);
    const unsigned blocks = shape.blocks == 0 ? static_cast<unsigned>(floats / shape.threads) : shape.blocks;
    const Sample time = repeat(options, [&] {
      const Managed a(options, kBytes), b(options, kBytes), c(options, kBytes);
      return seconds([&] {
        add<<<blocks, shape.threads>>>(reinterpret_cast<const float*>(a.data()),
                                       reinterpret_cast<const float*>(b.data()), reinterpret_cast<float*>(c.data()),
                                       floats);
      });
    });
    family.add(shape.mode, std::string("\"workload.mode\": \"") + shape.mode + "\"", "duration_s", time);
  }
  family.print();
}
