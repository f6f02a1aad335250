// Which faults reach a batch, for many shapes of access? One line of JSON per kernel: what it took while it faulted, and
// what it takes when all is there. With libuvmevents.so preloaded (capture/uvmevents), every fault entry behind the
// time is recorded, between marks that name the kernel.
#include "microbench.h"

using namespace microbench;

namespace {

using Words = unsigned*;

__device__ std::size_t thread() { return blockIdx.x * static_cast<std::size_t>(blockDim.x) + threadIdx.x; }

// One thread reads a word of one page after the other, each after the one before.
__global__ void chase(const unsigned* data, std::size_t pages, std::size_t stride, unsigned* sink) {
  std::size_t next = 0;
  for (std::size_t i = 0; i < pages; ++i) next = (i + 1) * stride + (data[next / sizeof(unsigned)] == 7 ? 1 : 0);
  if (next == 1) *sink = 1;
}

// Every thread reads a word of a page of its own, or of those of the first `pages` threads.
__global__ void read_pages(const unsigned* data, std::size_t pages, std::size_t stride, unsigned* sink) {
  if (data[thread() % pages * stride / sizeof(unsigned)] == 7) *sink = 1;
}
__global__ void write_pages(unsigned* data, std::size_t pages, std::size_t stride) {
  data[thread() % pages * stride / sizeof(unsigned)] = 3;
}
__global__ void atomic_pages(unsigned* data, std::size_t pages, std::size_t stride) {
  atomicAdd(&data[thread() % pages * stride / sizeof(unsigned)], 3);
}

// Each warp touches a line of 128 bytes of its own: all of one page, then, of reads, of another one.
__global__ void read_lines(const unsigned* data, const unsigned* other, unsigned* sink) {
  const unsigned word = threadIdx.x % 1024;
  if (data[word] + other[word] == 7) *sink = 1;
}
__global__ void write_lines(unsigned* data) { data[threadIdx.x % 1024] = 3; }

__global__ void add(const unsigned* a, const unsigned* b, unsigned* c, std::size_t count) {
  const std::size_t i = thread();
  if (i < count) c[i] = a[i] + b[i];
}
__global__ void add_loop(const unsigned* a, const unsigned* b, unsigned* c, std::size_t count) {
  for (std::size_t i = thread(); i < count; i += static_cast<std::size_t>(blockDim.x) * gridDim.x) c[i] = a[i] + b[i];
}
__global__ void add_to(const unsigned* a, unsigned* c, std::size_t count) {
  const std::size_t i = thread();
  if (i < count) c[i] += a[i];
}
__global__ void write(unsigned* data, std::size_t count) {
  const std::size_t i = thread();
  if (i < count) data[i] = static_cast<unsigned>(i);
}
__global__ void write_loop(unsigned* data, std::size_t count) {
  for (std::size_t i = thread(); i < count; i += static_cast<std::size_t>(blockDim.x) * gridDim.x) data[i] = 1;
}
__global__ void read(const unsigned* data, std::size_t count, unsigned* sink) {
  const std::size_t i = thread();
  if (i < count && data[i] == 7) *sink = 1;
}
__global__ void read_loop(const unsigned* data, std::size_t count, unsigned* sink) {
  unsigned sum = 0;
  for (std::size_t i = thread(); i < count; i += static_cast<std::size_t>(blockDim.x) * gridDim.x) sum += data[i];
  if (sum == 7) *sink = 1;
}
__global__ void relu(const unsigned* in, unsigned* out, std::size_t count) {
  const std::size_t i = thread();
  if (i < count) out[i] = in[i] > 2 ? in[i] : 0;
}
// Each thread reads `each` words that lie together.
__global__ void read_chunks(const unsigned* data, std::size_t count, std::size_t each, unsigned* sink) {
  unsigned sum = 0;
  const std::size_t first = thread() * each;
  for (std::size_t i = first; i < first + each && i < count; ++i) sum += data[i];
  if (sum == 7) *sink = 1;
}
__global__ void read_random(const unsigned* data, std::size_t count, unsigned* sink) {
  std::uint64_t z = thread() + 0x9e3779b97f4a7c15ULL;
  z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9ULL;
  z = (z ^ (z >> 27)) * 0x94d049bb133111ebULL;
  if (data[(z ^ (z >> 31)) % count] == 7) *sink = 1;
}
__global__ void stencil(const float* in, float* out, int width, int height) {
  const int x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y * blockDim.y + threadIdx.y;
  if (x < 1 || y < 1 || x >= width - 1 || y >= height - 1) return;
  const std::size_t i = static_cast<std::size_t>(y) * width + x;
  out[i] = 0.2F * (in[i] + in[i - 1] + in[i + 1] + in[i - width] + in[i + width]);
}
constexpr int kTile = 32;
__global__ void gemm(const float* a, const float* b, float* c, int n) {
  __shared__ float left[kTile][kTile], right[kTile][kTile];
  const int row = blockIdx.y * kTile + threadIdx.y, column = blockIdx.x * kTile + threadIdx.x;
  float sum = 0;
  for (int k = 0; k < n; k += kTile) {
    left[threadIdx.y][threadIdx.x] = a[static_cast<std::size_t>(row) * n + k + threadIdx.x];
    right[threadIdx.y][threadIdx.x] = b[static_cast<std::size_t>(k + threadIdx.y) * n + column];
    __syncthreads();
    for (int i = 0; i < kTile; ++i) sum += left[threadIdx.y][i] * right[i][threadIdx.x];
    __syncthreads();
  }
  c[static_cast<std::size_t>(row) * n + column] = sum;
}

// Managed arrays of one kernel, of which the host writes each byte, one word of every `stride` bytes, or nothing.
class Arrays {
 public:
  Arrays(const Options& options, int count, std::size_t bytes, std::size_t stride) {
    for (int i = 0; i < count; ++i) {
      arrays_.push_back(std::make_unique<Managed>(options, bytes, stride == 1));
      if (stride <= 1) continue;
      for (std::size_t offset = 0; offset < bytes; offset += stride) arrays_.back()->data()[offset] = 1;
    }
  }
  Words operator[](int i) const { return reinterpret_cast<Words>(arrays_[i]->data()); }
  float* floats(int i) const { return reinterpret_cast<float*>(arrays_[i]->data()); }
  const Managed& managed(int i) const { return *arrays_[i]; }
  std::vector<const void*> places() const {
    std::vector<const void*> places;
    for (const auto& array : arrays_) places.push_back(array->data());
    return places;
  }

 private:
  std::vector<std::unique_ptr<Managed>> arrays_;
};

constexpr std::size_t kNothing = 0, kAll = 1;  // strides of what the host writes

class Program {
 public:
  explicit Program(const Options& options) : options_(options) {}

  // Runs the kernel twice over fresh arrays, `options.repeat` times.
  void shape(const std::string& name, int arrays, std::size_t bytes, std::size_t host_stride,
             const std::function<void(const Arrays&)>& kernel, const std::function<void(const Arrays&)>& prepare = {}) {
    std::vector<double> first, second;
    for (int i = 0; i < options_.repeat; ++i) {
      const Arrays data(options_, arrays, bytes, host_stride);
      if (prepare) prepare(data);
      CUDA_OK(cudaDeviceSynchronize());
      mark_begin(name, data.places());
      first.push_back(seconds([&] { kernel(data); }));
      mark("end");
      second.push_back(seconds([&] { kernel(data); }));
    }
    const Sample faulting = summarize(first), resident = summarize(second);
    std::printf("{\"kernel\": \"%s\", \"arrays\": %d, \"bytes\": %zu, \"faulting_s\": %.6g, \"uncertainty\": %.3g, "
                "\"resident_s\": %.6g}\n",
                name.c_str(), arrays, bytes, faulting.median, faulting.uncertainty, resident.median);
    std::fflush(stdout);
  }

 private:
  Options options_;
};

void lone_pages(Program& program, Words sink) {
  // A page of each of many blocks: prefetching does not get in the way.
  program.shape("chase_blocks", 1, 64 * kBlock, kPage,
                [=](const Arrays& a) { chase<<<1, 1>>>(a[0], 63, kBlock, sink); });
  program.shape("chase_pages", 1, 2 * kBlock, kAll,
                [=](const Arrays& a) { chase<<<1, 1>>>(a[0], 1023, kPage, sink); });
  struct Shape {
    unsigned ctas, threads;
    std::size_t pages;
  };
  for (const Shape& each : {Shape{1, 32, 32}, {1, 64, 64}, {1, 128, 128}, {1, 256, 256}, {1, 1024, 1024}, {2, 32, 64},
                            {4, 32, 128}, {132, 1, 132}, {132, 32, 4224}, {528, 32, 4224}, {132, 32, 32}, {132, 256, 32},
                            {264, 64, 1}}) {
    const std::string shape =
        std::to_string(each.ctas) + "x" + std::to_string(each.threads) + "_on_" + std::to_string(each.pages);
    program.shape("read_blocks_" + shape, 1, each.pages * kBlock, kBlock, [=](const Arrays& a) {
      read_pages<<<each.ctas, each.threads>>>(a[0], each.pages, kBlock, sink);
    });
    if (each.ctas * each.threads > 4224) continue;
    program.shape("write_blocks_" + shape, 1, each.pages * kBlock, kBlock,
                  [=](const Arrays& a) { write_pages<<<each.ctas, each.threads>>>(a[0], each.pages, kBlock); });
  }
  program.shape("atomic_blocks_132x32_on_32", 1, 32 * kBlock, kBlock,
                [=](const Arrays& a) { atomic_pages<<<132, 32>>>(a[0], 32, kBlock); });
  program.shape("write_blocks_untouched_132x32_on_4224", 1, 4224 * kBlock, kNothing,
                [=](const Arrays& a) { write_pages<<<132, 32>>>(a[0], 4224, kBlock); });
  for (const std::size_t mib : {4, 16, 64}) {
    const std::size_t pages = mib * kMiB / kPage;
    program.shape("page_read_" + std::to_string(mib), 1, mib * kMiB, kAll, [=](const Arrays& a) {
      read_pages<<<static_cast<unsigned>(pages / 256), 256>>>(a[0], pages, kPage, sink);
    });
  }
}

// One CTA: how many requests of an SM wait at once, and which are one?
void slots(Program& program, Words sink) {
  for (const unsigned warps : {1, 2, 4, 8, 16, 32}) {
    const std::string name = "_of_" + std::to_string(warps) + "_warps";
    program.shape("read_page" + name, 1, kBlock, kAll,
                  [=](const Arrays& a) { read_lines<<<1, 32 * warps>>>(a[0], a[0], sink); });
    program.shape("read_two_pages" + name, 2, kBlock, kAll,
                  [=](const Arrays& a) { read_lines<<<1, 32 * warps>>>(a[0], a[1], sink); });
    program.shape("write_page" + name, 1, kBlock, kAll, [=](const Arrays& a) { write_lines<<<1, 32 * warps>>>(a[0]); });
  }
  for (const std::size_t kib : {4, 8, 16, 32, 64, 128, 512})
    for (const unsigned warps : {1, 2, 8})
      program.shape("read_every_" + std::to_string(kib) + "k_" + std::to_string(warps) + "_warps", 1,
                    warps * 32 * kib * kKiB, kAll, [=](const Arrays& a) {
                      read_pages<<<1, 32 * warps>>>(a[0], 32 * warps, kib * kKiB, sink);
                    });
}

void grids(Program& program, Words sink) {
  constexpr std::size_t kBytes = 32 * kMiB, kWords = kBytes / sizeof(unsigned);
  constexpr unsigned kCtas = kWords / 256;
  program.shape("add_thread", 3, 4 * kMiB, kAll, [=](const Arrays& a) { add_loop<<<1, 1>>>(a[0], a[1], a[2], kMiB); });
  program.shape("add_cta", 3, kBytes, kAll, [=](const Arrays& a) { add_loop<<<1, 256>>>(a[0], a[1], a[2], kWords); });
  program.shape("add_grid", 3, kBytes, kAll, [=](const Arrays& a) { add<<<kCtas, 256>>>(a[0], a[1], a[2], kWords); });
  program.shape("add_grid_small", 3, kMiB, kAll,
                [=](const Arrays& a) { add<<<1024, 256>>>(a[0], a[1], a[2], kMiB / sizeof(unsigned)); });
  program.shape("add_to_grid_small", 2, 4 * kMiB, kAll,
                [=](const Arrays& a) { add_to<<<4096, 256>>>(a[0], a[1], kMiB); });
  program.shape("add_grid_1024", 3, kBytes, kAll,
                [=](const Arrays& a) { add<<<kCtas / 4, 1024>>>(a[0], a[1], a[2], kWords); });
  program.shape("add_loop_256x256", 3, kBytes, kAll,
                [=](const Arrays& a) { add_loop<<<256, 256>>>(a[0], a[1], a[2], kWords); });
  program.shape("read_grid", 1, kBytes, kAll, [=](const Arrays& a) { read<<<kCtas, 256>>>(a[0], kWords, sink); });
  program.shape("write_grid", 1, kBytes, kAll, [=](const Arrays& a) { write<<<kCtas, 256>>>(a[0], kWords); });
  program.shape("read_loop_256x256", 1, 2 * kBytes, kAll,
                [=](const Arrays& a) { read_loop<<<256, 256>>>(a[0], 2 * kWords, sink); });
  program.shape("first_touch_grid", 1, 2 * kBytes, kNothing,
                [=](const Arrays& a) { write<<<2 * kCtas, 256>>>(a[0], 2 * kWords); });
  program.shape("first_touch_loop_256x256", 1, 4 * kBytes, kNothing,
                [=](const Arrays& a) { write_loop<<<256, 256>>>(a[0], 4 * kWords); });
  program.shape("read_chunks_64x256_of_4k", 1, 2 * kBytes, kAll,
                [=](const Arrays& a) { read_chunks<<<64, 256>>>(a[0], 2 * kWords, kPage / sizeof(unsigned), sink); });
  program.shape("read_random_4096x256", 1, 2 * kBytes, kAll,
                [=](const Arrays& a) { read_random<<<4096, 256>>>(a[0], 2 * kWords, sink); });
}

void tiles(Program& program) {
  program.shape("stencil_4096_32x8", 2, 64 * kMiB, kAll, [](const Arrays& a) {
    stencil<<<dim3(128, 512), dim3(32, 8)>>>(a.floats(0), a.floats(1), 4096, 4096);
  });
  program.shape("stencil_4096_16x16", 2, 64 * kMiB, kAll, [](const Arrays& a) {
    stencil<<<dim3(256, 256), dim3(16, 16)>>>(a.floats(0), a.floats(1), 4096, 4096);
  });
  program.shape("gemm_2048", 3, 16 * kMiB, kAll, [](const Arrays& a) {
    gemm<<<dim3(64, 64), dim3(kTile, kTile)>>>(a.floats(0), a.floats(1), a.floats(2), 2048);
  });
  program.shape("gemm_4096", 3, 64 * kMiB, kAll, [](const Arrays& a) {
    gemm<<<dim3(128, 128), dim3(kTile, kTile)>>>(a.floats(0), a.floats(1), a.floats(2), 4096);
  });
}

void advised(Program& program, Words sink) {
  constexpr std::size_t kBytes = 8 * kMiB, kWords = kBytes / sizeof(unsigned);
  const auto read_mostly = [](const Arrays& a) { advise(a.managed(0), cudaMemAdviseSetReadMostly, false); };
  program.shape("read_mostly_read", 1, kBytes, kAll, [=](const Arrays& a) { read<<<8192, 256>>>(a[0], kWords, sink); },
                read_mostly);
  program.shape("read_mostly_write", 1, kBytes, kAll, [=](const Arrays& a) { write<<<8192, 256>>>(a[0], kWords); },
                [=](const Arrays& a) {
                  read_mostly(a);
                  read<<<8192, 256>>>(a[0], kWords, sink);
                });
  program.shape("read_mostly_write_unread", 1, kBytes, kAll,
                [=](const Arrays& a) { write<<<8192, 256>>>(a[0], kWords); }, read_mostly);
  program.shape("accessed_by_read", 1, kBytes, kAll, [=](const Arrays& a) { read<<<8192, 256>>>(a[0], kWords, sink); },
                [](const Arrays& a) { advise(a.managed(0), cudaMemAdviseSetAccessedBy, false); });
  program.shape("preferred_host_read", 1, kBytes, kAll,
                [=](const Arrays& a) { read<<<8192, 256>>>(a[0], kWords, sink); },
                [](const Arrays& a) { advise(a.managed(0), cudaMemAdviseSetPreferredLocation, true); });
  program.shape("preferred_host_write", 1, kBytes, kAll,
                [=](const Arrays& a) { write<<<8192, 256>>>(a[0], kWords); },
                [](const Arrays& a) { advise(a.managed(0), cudaMemAdviseSetPreferredLocation, true); });
}

// Larger than what the GPU's request queues and translations hold: programs whose times others have published.
void large(Program& program) {
  constexpr std::size_t kBytes = 256 * kMiB, kWords = kBytes / sizeof(unsigned);
  program.shape("add_loop_65535x256", 3, kBytes, kAll,
                [=](const Arrays& a) { add_loop<<<65535, 256>>>(a[0], a[1], a[2], kWords); });
  program.shape("relu_grid", 2, kBytes, kNothing,
                [=](const Arrays& a) { relu<<<kWords / 256, 256>>>(a[0], a[1], kWords); },
                [](const Arrays& a) { std::memset(a.managed(0).data(), 1, kBytes); });
  program.shape("first_touch_loop_65535x256", 1, kBytes, kNothing,
                [=](const Arrays& a) { write_loop<<<65535, 256>>>(a[0], kWords); });
}

}  // namespace

int main(int count, char** arguments) {
  const Options options = parse(count, arguments, "which faults reach a batch");
  std::printf("// %s\n", facts().c_str());
  Words sink = nullptr;
  CUDA_OK(cudaMalloc(&sink, sizeof *sink));
  Program program(options);
  lone_pages(program, sink);
  slots(program, sink);
  grids(program, sink);
  tiles(program);
  advised(program, sink);
  large(program);
}
