// What does a batch cost, and what a block in it? The same fault on each of 14 blocks, by one thread block after block
// (14 batches of one block), or by 14 lanes of a warp (one batch: an SM has no more faults out). Blocks differ in what
// the driver must do for the page (find memory for it, or copy it with its neighbours) and in how much of them the GPU
// has already: nothing, half, or all but what is asked for. Last, eight pages of one block at once. One line of JSON
// per shape: seconds for each block.
#include <thread>

#include "microbench.h"
#include "touches.h"

using namespace microbench;

namespace {

constexpr std::size_t kWordsOfPage = kPage / sizeof(unsigned), kWordsOfBlock = kBlock / sizeof(unsigned);
constexpr int kBlocks = 14;
constexpr std::size_t kApart = 64;  // pages between touches of one block: too far for what is prefetched to grow
constexpr int kTouches = 8;

// How the pages of a kernel are asked for.
struct Order {
  const char* name;
  bool at_once;
};
constexpr Order kOrders[] = {{"in_turn", false}, {"at_once", true}};

struct Bench {
  const Options& options;
  unsigned* sink = nullptr;

  // Seconds of touching `count` places `stride` words apart, from the first page of `data` plus `page`.
  double touch(const char* data, std::size_t page, std::size_t stride, int count, bool at_once) const {
    const auto* words = reinterpret_cast<const unsigned*>(data) + page * kWordsOfPage;
    return seconds([&] { touch_places(words, stride, count, at_once, sink); });
  }

  // A page of each block; faults are what the same kernel takes longer the first time than the second.
  double of_blocks(const std::string& name, const Managed& data, std::size_t page, bool at_once) const {
    mark_begin(name, {data.data()});
    const double faulting = touch(data.data(), page, kWordsOfBlock, kBlocks, at_once);
    mark("end");
    touch(data.data(), page, kWordsOfBlock, kBlocks, at_once);
    return (faulting - touch(data.data(), page, kWordsOfBlock, kBlocks, at_once)) / kBlocks;
  }

  void print(const std::string& name, const Sample& sample) const {
    std::printf("{\"kernel\": \"%s\", \"block_s\": %.6g, \"uncertainty\": %.3g}\n", name.c_str(), sample.median,
                sample.uncertainty);
    std::fflush(stdout);
  }
};

// Nobody has touched the blocks: memory is found, zeroed and mapped.
void untouched(const Bench& bench, const Order& order) {
  const std::string name = std::string(order.name) + "_untouched";
  bench.print(name, repeat(bench.options, [&] {
                const Managed data(bench.options, kBlocks * kBlock, false);
                return bench.of_blocks(name, data, 0, order.at_once);
              }));
}

// The host has written all: a page of each block and then another, and so on, each with the 64 KiB around it.
void on_host(const Bench& bench, const Order& order) {
  std::vector<double> values[kTouches];
  for (int i = 0; i <= bench.options.repeat; ++i) {
    const Managed data(bench.options, kBlocks * kBlock);
    for (int k = 0; k < kTouches; ++k) {
      const double value =
          bench.of_blocks(std::string(order.name) + "_host_" + std::to_string(k), data, k * kApart, order.at_once);
      if (i > 0) values[k].push_back(value);
    }
  }
  for (int k = 0; k < kTouches; ++k)
    bench.print(std::string(order.name) + "_host_" + std::to_string(k), summarize(values[k]));
}

// How a run of pages of a block came to be on the host.
enum class Cause { kKept, kPrefetched, kTouched };
constexpr const char* kCauses[] = {"kept", "sent", "taken"};

// The GPU has `resident` bytes of each block but for a run of `pages` pages, which it never had (kept), which went back
// by a prefetch (sent), or which the host touched (taken: 64 KiB at least); a fault brings it in. `late`: long after.
void missing(const Bench& bench, const Order& order, std::size_t resident, std::size_t pages, Cause cause, bool late) {
  const std::size_t before = kApart * kPage, run = pages * kPage;
  const std::string name = std::string(order.name) + (resident == kBlock ? "_full_" : "_half_") +
                           std::to_string(pages) + "_" + kCauses[static_cast<int>(cause)] + (late ? "_late" : "");
  bench.print(name, repeat(bench.options, [&] {
                const Managed data(bench.options, kBlocks * kBlock, false);
                for (int i = 0; i < kBlocks; ++i) {
                  char* block = data.data() + i * kBlock;
                  std::memset(block, 1, resident);
                  if (cause == Cause::kKept) {
                    prefetch(block, before, true);
                    prefetch(block + before + run, resident - before - run, true);
                  } else {
                    prefetch(block, resident, true);
                  }
                }
                CUDA_OK(cudaDeviceSynchronize());
                for (int i = 0; i < kBlocks; ++i) {
                  char* block = data.data() + i * kBlock;
                  if (cause == Cause::kPrefetched) prefetch(block + before, run, false);
                  if (cause == Cause::kTouched) std::memset(block + before, 1, run);
                }
                CUDA_OK(cudaDeviceSynchronize());
                if (late) std::this_thread::sleep_for(std::chrono::milliseconds(20));
                return bench.of_blocks(name, data, kApart, order.at_once);
              }));
}

// Eight pages of a block at once, each with the 64 KiB around it; block after block.
void eight_at_once(const Bench& bench) {
  bench.print("eight_at_once", repeat(bench.options, [&] {
                const Managed data(bench.options, kBlocks * kBlock);
                double spent = 0;
                mark_begin("eight_at_once", {data.data()});
                for (const bool again : {false, true})
                  for (int block = 0; block < kBlocks; ++block)
                    spent += (again ? -1 : 1) *
                             bench.touch(data.data() + block * kBlock, 0, kApart * kWordsOfPage, kTouches, true);
                mark("end");
                return spent / kBlocks;
              }));
}

}  // namespace

int main(int count, char** arguments) {
  const Options options = parse(count, arguments, "what a batch costs, and what a block in it");
  std::printf("// %s\n", facts().c_str());
  Bench bench{options};
  CUDA_OK(cudaMalloc(&bench.sink, sizeof *bench.sink));
  for (const Order& order : kOrders) {
    untouched(bench, order);
    on_host(bench, order);
    for (const std::size_t resident : {kBlock / 2, kBlock}) {
      for (const Cause cause : {Cause::kKept, Cause::kPrefetched, Cause::kTouched})
        for (const std::size_t pages : {1, 16}) missing(bench, order, resident, pages, cause, false);
      missing(bench, order, resident, 16, Cause::kPrefetched, true);
    }
  }
  eight_at_once(bench);
}
