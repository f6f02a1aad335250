#include "study/data_section.h"

#include "base/quantity.h"
#include "study/plug_in_section.h"

namespace uvmsim {
namespace {

// Places in the orders of reading: 512 MiB of them.
constexpr std::int64_t kMostPlaces = std::int64_t{1} << 27;

}  // namespace

DataConfig read_data_section(const JsonValue* value, const std::string& pointer, Bytes host_memory,
                             std::vector<InputError>& errors, ResolvedConfig& resolved) {
  DataConfig data;
  data.cache_factory = named_plug_in<ItemCache>(value, "cache", data.cache);
  if (value == nullptr) return data;
  const DescribedObject part{&describe_data(), &data};
  const std::size_t before = errors.size();
  read_described(value, pointer, {&part, 1}, errors, resolved);
  if (errors.size() != before) return data;
  const auto error = [&](const std::string& key, std::string message) {
    errors.push_back({place_of_key(value, pointer, key), std::move(message)});
  };
  if (data.cache_memory > host_memory && host_memory > Bytes{})
    error("cache_memory",
          to_text(data.cache_memory) + " is more than the server has: machine.host.memory is " + to_text(host_memory));
  if (data.coordinated && data.jobs == 1)
    error("coordinated", "one job has nobody to share prepared data with: expected data.jobs of at least 2");
  if (data.partitioned && data.servers == 1)
    error("partitioned", "one server has nobody to share its memory with: expected data.servers of at least 2");
  if (const int orders = data.coordinated ? 1 : data.jobs; data.items > kMostPlaces / orders)
    error("items", "more than " + std::to_string(kMostPlaces) + " items of all jobs: they are followed one by one");
  return data;
}

}  // namespace uvmsim
