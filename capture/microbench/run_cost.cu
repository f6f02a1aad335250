// What does a batch pay for a block, for a run of pages that lie together, and for a page? Blocks that the GPU has, but
// for some runs that were sent back to the host: a fault on the first page brings in all that is missing, since more
// than half of the block is there. One thread faults block after block, each fault a batch of its own; or each lane of
// a warp faults a block, all in a batch or two; or so, but with nothing in the host's page tables any more, which the
// driver does not know: what it unmaps then needs no TLB flush. One line of JSON per shape: seconds for each block.
#include <sys/mman.h>

#include "microbench.h"
#include "touches.h"

using namespace microbench;

namespace {

constexpr std::size_t kPagesOfBlock = kBlock / kPage;
constexpr int kBlocks = 16;

// `runs` of `pages` pages, spread evenly over a block: at most half of it.
struct Pattern {
  std::size_t runs, pages;
};

void send_back(const Managed& data, const Pattern& pattern) {
  const std::size_t apart = kPagesOfBlock / pattern.runs;
  for (int block = 0; block < kBlocks; ++block)
    for (std::size_t run = 0; run < pattern.runs; ++run)
      prefetch(data.data() + block * kBlock + run * apart * kPage, pattern.pages * kPage, false);
  CUDA_OK(cudaDeviceSynchronize());
}

// How blocks are touched; `zapped`: after the host's page tables were emptied.
struct Mode {
  const char* name;
  bool at_once, zapped;
};

void measure(const Options& options, const Managed& data, const Pattern& pattern, const Mode& mode, unsigned* sink) {
  const auto* words = reinterpret_cast<const unsigned*>(data.data());
  const auto touch = [=] { touch_places(words, kBlock / sizeof(unsigned), kBlocks, mode.at_once, sink); };
  const std::string name =
      std::string(mode.name) + "_" + std::to_string(pattern.runs) + "x" + std::to_string(pattern.pages);
  const Sample resident = repeat(options, [&] { return seconds(touch); });
  const Sample faulting = repeat(options, [&] {
    send_back(data, pattern);
    if (mode.zapped && madvise(data.data(), data.bytes(), MADV_DONTNEED) != 0) std::perror("madvise");
    mark_begin(name, {data.data()});
    const double spent = seconds(touch);
    mark("end");
    return spent;
  });
  // Nothing may be left for a second kernel.
  const double again = seconds(touch);
  std::printf(
      "{\"kernel\": \"%s\", \"runs\": %zu, \"pages_of_run\": %zu, \"block_s\": %.6g, \"uncertainty\": %.3g, "
      "\"resident_s\": %.6g, \"again_s\": %.6g}\n",
      name.c_str(), pattern.runs, pattern.pages, (faulting.median - resident.median) / kBlocks, faulting.uncertainty,
      resident.median, again);
  std::fflush(stdout);
}

}  // namespace

int main(int count, char** arguments) {
  const Options options = parse(count, arguments, "what a batch pays for blocks, runs and pages");
  std::printf("// %s\n", facts().c_str());
  unsigned* sink = nullptr;
  CUDA_OK(cudaMalloc(&sink, sizeof *sink));
  const Managed data(options, kBlocks * kBlock);
  prefetch(data.data(), data.bytes(), true);
  CUDA_OK(cudaDeviceSynchronize());
  for (const Mode& mode : {Mode{"in_turn", false, false}, {"at_once", true, false}, {"zapped", true, true}})
    for (const Pattern& pattern : {Pattern{1, 1},
                                   {1, 4},
                                   {1, 16},
                                   {1, 64},
                                   {1, 256},
                                   {4, 1},
                                   {4, 16},
                                   {4, 64},
                                   {16, 1},
                                   {16, 4},
                                   {16, 16},
                                   {64, 1},
                                   {64, 4},
                                   {256, 1}})
      measure(options, data, pattern, mode, sink);
}
