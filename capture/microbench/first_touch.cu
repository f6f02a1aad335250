// How long does the GPU take to write managed memory that nobody touched before?
#include "microbench.h"

using namespace microbench;

__global__ void write(int* data, std::size_t count) {
  const std::size_t i = blockIdx.x * static_cast<std::size_t>(blockDim.x) + threadIdx.x;
  if (i < count) data[i] = static_cast<int>(i);
}

int main(int count, char** arguments) {
  const Options options = parse(count, arguments, "how long the GPU takes to write fresh managed memory");
  Family family(options, "first_touch", "The GPU writes managed memory that nobody touched before",
                "\"generator\": \"first_touch\", \"size\": \"128 MiB\"");
  for (const std::size_t mib : {2, 32, 128, 512, 2048}) {
    const Sample time = repeat(options, [&] {
      const Managed data(options, mib * kMiB, false);
      const std::size_t ints = data.bytes() / sizeof(int);
      return seconds([&] {
        write<<<static_cast<unsigned>((ints + 255) / 256), 256>>>(reinterpret_cast<int*>(data.data()), ints);
      });
    });
    const std::string size = std::to_string(mib) + " MiB";
    family.add(size, "\"workload.size\": \"" + size + "\"", "duration_s", time);
  }
  family.print();
}
