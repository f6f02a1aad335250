// What does managed memory cost the host? Its first touch, by whole arrays and by a byte per page; what it touches
// while it is on the GPU; and cudaMemPrefetchAsync both ways, of memory that is to be populated and of memory that has
// been there. Beside each the same loop over pages that are there.
#include "microbench.h"

using namespace microbench;

static void prefetch(const Managed& data, bool to_gpu) { prefetch(data.data(), data.bytes(), to_gpu); }

static void write_every(const Managed& data, std::size_t stride) {
  volatile char* const bytes = data.data();
  for (std::size_t i = 0; i < data.bytes(); i += stride) bytes[i] = 1;
}

// A step of the simulator's workload host_touch, and where the memory is before it.
struct Step {
  const char* name;
  const char* before;
  std::function<void(const Managed&)> run;
};

static void bring(const Managed& data, const std::string& before) {
  if (before == "untouched") return;
  write_every(data, kPage);
  if (before == "gpu" || before == "returned") prefetch(data, true);
  if (before == "returned") prefetch(data, false);
}

int main(int count, char** arguments) {
  const Options options = parse(count, arguments, "what managed memory costs the host");
  Family family(options, "host_touch", "The host touches managed memory, or has it prefetched",
                "\"generator\": \"host_touch\", \"size\": \"2 MiB\"");
  const std::vector<Step> steps = {
      {"host_write", "untouched", [](const Managed& data) { write_every(data, kPage); }},
      {"host_write", "gpu", [](const Managed& data) { write_every(data, kPage); }},
      {"prefetch_to_gpu", "untouched", [](const Managed& data) { prefetch(data, true); }},
      {"prefetch_to_gpu", "host", [](const Managed& data) { prefetch(data, true); }},
      {"prefetch_to_gpu", "gpu", [](const Managed& data) { prefetch(data, true); }},
      {"prefetch_to_gpu", "returned", [](const Managed& data) { prefetch(data, true); }},
      {"prefetch_to_host", "gpu", [](const Managed& data) { prefetch(data, false); }},
  };
  for (const std::size_t kib : {64, 2048, 65536, 524288})
    for (const Step& step : steps) {
      const std::string size = std::to_string(kib) + " KiB";
      const std::string settings = "\"workload.size\": \"" + size + "\", \"workload.before\": \"" + step.before +
                                   "\", \"workload.step\": \"" + step.name + "\"";
      const bool touches = std::string(step.name) == "host_write";
      family.add(std::string(step.name) + " of " + size + ", before: " + step.before,
                 settings + (touches ? ", \"workload.places\": " + std::to_string(kib * kKiB / kPage) : ""),
                 "duration_s", repeat(options, [&] {
                   const Managed data(options, kib * kKiB, false);
                   bring(data, step.before);
                   return seconds([&] { step.run(data); });
                 }));
    }
  // Lone CPU faults: two places of each block, as Comm|Scope's latency.
  family.add("host_read of 32 places 1 MiB apart, before: gpu",
             "\"workload.size\": \"32 MiB\", \"workload.places\": 32, \"workload.before\": \"gpu\", "
             "\"workload.step\": \"host_read\"",
             "duration_s", repeat(options, [&] {
               const Managed data(options, 32 * kMiB, false);
               bring(data, "gpu");
               return seconds([&] { write_every(data, kMiB); });
             }));
  const Managed there(options, 512 * kMiB);
  family.note("a byte of each page of 512 MiB that the host has",
              repeat(options, [&] { return seconds([&] { write_every(there, kPage); }); }), "s");
  family.note("memset of 512 MiB that the host has",
              repeat(options, [&] { return seconds([&] { std::memset(there.data(), 2, there.bytes()); }); }), "s");
  family.print();
}
