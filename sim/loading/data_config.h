// How training gets its data: the data set, where it is stored, what host memory keeps of it, who prepares it.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "base/describe.h"
#include "loading/item_cache.h"

namespace uvmsim {

// Where the data set is.
struct StorageSpec {
  std::string name = "SATA SSD";
  BytesPerSecond read{530'000'000};  // of whole items in random order, all readers together
  std::string node;                  // of the machine's memories; "": none of them, whatever links there are
};

// The config's "data" section. Every server has its own storage, cache and cores.
struct DataConfig {
  std::int64_t items = 1'281'167;
  Bytes item_bytes{113'000};
  bool shuffled = true;
  StorageSpec storage;
  std::string cache = "lru";  // a name from `uvmsim list cache`
  std::shared_ptr<ItemCache::Factory> cache_factory;
  Bytes cache_memory{64'000'000'000};
  int cores = 24;
  double prep_rate = 270;
  int prefetch = 2;
  int jobs = 1;
  bool coordinated = false;
  int servers = 1;
  bool partitioned = false;
  BytesPerSecond network{5'000'000'000};
};

const Description& describe_storage();
const Description& describe_data();

// How many items `memory` keeps.
inline std::int64_t items_in(const DataConfig& data, Bytes memory) { return memory.value / data.item_bytes.value; }

}  // namespace uvmsim
