// How do many concurrent faults combine? Threads of a grid each read one float of a page of their own; the simulator's
// page_read. Under `uvmcap --um` the fault groups and migrations behind the time are recorded too.
#include "microbench.h"

using namespace microbench;

__global__ void read_pages(const float* data, float* sum, std::size_t pages, std::size_t floats_per_page) {
  const std::size_t page = blockIdx.x * static_cast<std::size_t>(blockDim.x) + threadIdx.x;
  if (page < pages && data[page * floats_per_page] == 2.0F) *sum = 1.0F;
}

int main(int count, char** arguments) {
  const Options options = parse(count, arguments, "how many concurrent faults combine");
  Family family(options, "fault_rate", "A grid reads one float of each 4 KiB page",
                "\"generator\": \"page_read\", \"size\": \"16 MiB\", \"block\": 256");
  float* sum = nullptr;
  CUDA_OK(cudaMalloc(&sum, sizeof *sum));
  for (const std::size_t mib : {2, 16, 64, 256, 1024}) {
    const Sample time = repeat(options, [&] {
      const Managed data(options, mib * kMiB);
      const std::size_t pages = data.bytes() / kPage;
      return seconds([&] {
        read_pages<<<static_cast<unsigned>((pages + 255) / 256), 256>>>(reinterpret_cast<const float*>(data.data()),
                                                                        sum, pages, kPage / sizeof(float));
      });
    });
    const std::string size = std::to_string(mib) + " MiB";
    family.add(size, "\"workload.size\": \"" + size + "\"", "duration_s", time);
  }
  family.print();
}
