// What does each advice do to the first and the second read of managed memory by the GPU, and to the host's read after
// it?
#include "microbench.h"

using namespace microbench;

__global__ void read(const unsigned* data, std::size_t count, unsigned* sink) {
  const std::size_t i = blockIdx.x * static_cast<std::size_t>(blockDim.x) + threadIdx.x;
  if (i < count && data[i] == 0) *sink = 1;
}

int main(int count, char** arguments) {
  const Options options = parse(count, arguments, "what each advice does to reads");
  constexpr std::size_t kBytes = 64 * kMiB;
  unsigned* sink = nullptr;
  CUDA_OK(cudaMalloc(&sink, sizeof *sink));
  struct Case {
    const char* name;
    std::function<void(const Managed&)> prepare;
  };
  const Case cases[] = {
      {"no advice", [](const Managed&) {}},
      {"read mostly", [](const Managed& data) { advise(data, cudaMemAdviseSetReadMostly, false); }},
      {"preferred location GPU", [](const Managed& data) { advise(data, cudaMemAdviseSetPreferredLocation, false); }},
      {"preferred location host", [](const Managed& data) { advise(data, cudaMemAdviseSetPreferredLocation, true); }},
      {"accessed by the GPU", [](const Managed& data) { advise(data, cudaMemAdviseSetAccessedBy, false); }},
  };
  Family family(options, "advise", "", "");
  for (const Case& each : cases) {
    std::vector<double> first, second, host;
    for (int i = 0; i < options.repeat; ++i) {
      const Managed data(options, kBytes);
      each.prepare(data);
      const std::size_t words = kBytes / sizeof(unsigned);
      const auto pass = [&] {
        read<<<static_cast<unsigned>(words / 256), 256>>>(reinterpret_cast<const unsigned*>(data.data()), words, sink);
      };
      first.push_back(seconds(pass));
      second.push_back(seconds(pass));
      host.push_back(seconds([&] {
        volatile unsigned sum = 0;
        for (std::size_t offset = 0; offset < kBytes; offset += 4 * kKiB)
          sum = sum + static_cast<unsigned char>(data.data()[offset]);
      }));
    }
    family.note(std::string(each.name) + ", 64 MiB: first read by the GPU", summarize(first), "s");
    family.note(std::string(each.name) + ", 64 MiB: second read by the GPU", summarize(second), "s");
    family.note(std::string(each.name) + ", 64 MiB: read by the host after it", summarize(host), "s");
  }
  family.print();
}
