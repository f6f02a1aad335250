// How long does cudaMemPrefetchAsync take, by size, to the GPU and back, and how much of it hides behind kernels that
// update what was prefetched before?
#include "microbench.h"

using namespace microbench;

constexpr int kPieces = 8;

__global__ void update(float* data, std::size_t count) {
  const std::size_t i = blockIdx.x * static_cast<std::size_t>(blockDim.x) + threadIdx.x;
  if (i < count) data[i] += 1.0F;
}

// The simulator's prefetch_stream: each piece is prefetched on a side stream while the piece before is updated.
static void update_pieces(const Managed& data, cudaStream_t side, const cudaEvent_t* arrived) {
  const std::size_t bytes = data.bytes() / kPieces;
  const auto fetch = [&](int piece) {
    prefetch(data.data() + piece * bytes, bytes, true, side);
    CUDA_OK(cudaEventRecord(arrived[piece], side));
  };
  fetch(0);
  for (int piece = 0; piece < kPieces; ++piece) {
    if (piece + 1 < kPieces) fetch(piece + 1);
    CUDA_OK(cudaStreamWaitEvent(nullptr, arrived[piece], 0));
    const std::size_t floats = bytes / sizeof(float);
    update<<<static_cast<unsigned>((floats + 255) / 256), 256>>>(reinterpret_cast<float*>(data.data() + piece * bytes),
                                                                 floats);
  }
}

int main(int count, char** arguments) {
  const Options options = parse(count, arguments, "how long a prefetch takes, and how much of it hides");
  Family family(
      options, "bulk_prefetch", "A large allocation updated in 8 pieces, each prefetched during the one before",
      "\"generator\": \"prefetch_stream\", \"size\": \"64 MiB\", \"pieces\": 8, \"ahead\": 1, \"cpu_init\": true");
  cudaStream_t side;
  CUDA_OK(cudaStreamCreateWithFlags(&side, cudaStreamNonBlocking));
  cudaEvent_t arrived[kPieces];
  for (cudaEvent_t& event : arrived) CUDA_OK(cudaEventCreateWithFlags(&event, cudaEventDisableTiming));

  for (const std::size_t kib : {64, 2048, 16384, 65536, 524288, 2097152}) {
    std::vector<double> in, out;
    for (int i = 0; i < options.repeat; ++i) {
      const Managed data(options, kib * kKiB);
      in.push_back(seconds([&] { prefetch(data.data(), data.bytes(), true, nullptr); }));
      out.push_back(seconds([&] { prefetch(data.data(), data.bytes(), false, nullptr); }));
    }
    family.note("prefetch of " + std::to_string(kib) + " KiB to the GPU", summarize(in), "s");
    family.note("prefetch of " + std::to_string(kib) + " KiB to the host", summarize(out), "s");
  }
  for (const std::size_t mib : {16, 64, 512, 2048}) {
    const std::string size = std::to_string(mib) + " MiB";
    family.add(size, "\"workload.size\": \"" + size + "\"", "duration_s", repeat(options, [&] {
                 const Managed data(options, mib * kMiB);
                 return seconds([&] { update_pieces(data, side, arrived); });
               }));
  }
  family.print();
}
