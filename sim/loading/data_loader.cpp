#include "loading/data_loader.h"

#include <algorithm>
#include <numeric>
#include <utility>
#include <vector>

#include "base/check.h"
#include "base/scramble.h"
#include "base/seed.h"

namespace uvmsim {
namespace {

// The order in which one job reads the items: of each epoch another one, or always that of the data set.
class ReadingOrder {
 public:
  ReadingOrder(std::int64_t items, bool shuffled, int job)
      : items_(static_cast<std::size_t>(items)),
        shuffled_(shuffled),
        numbers_(kSeed + (static_cast<std::uint64_t>(job) << 32)) {
    std::iota(items_.begin(), items_.end(), std::uint32_t{0});
  }
  void begin_epoch() {
    if (!shuffled_) return;
    for (std::size_t left = items_.size(); left > 1; --left) std::swap(items_[left - 1], items_[numbers_.below(left)]);
  }
  std::int64_t item(std::int64_t place) const { return items_[static_cast<std::size_t>(place)]; }

 private:
  std::vector<std::uint32_t> items_;
  bool shuffled_;
  RandomNumbers numbers_;
};

class Loader {
 public:
  Loader(const DataConfig& data, const TrainingJob& job, LoadedFrom from)
      : data_(data),
        job_(job),
        from_(from),
        readers_(data.coordinated ? 1 : data.jobs),
        batch_(job.samples / job.gpus),
        servers_(static_cast<std::size_t>(data.servers)) {
    if (from == LoadedFrom::Storage)
      for (Server& server : servers_)
        server.cache = data.cache_factory->make(data.items, items_in(data, data.cache_memory));
    for (int reader = 0; reader < readers_; ++reader) {
      orders_.emplace_back(from == LoadedFrom::Storage ? data.items : 0, data.shuffled, reader);
      taken_.emplace_back(static_cast<std::size_t>(data.prefetch));
      gpus_free_.emplace_back();
    }
  }

  LoadedEpoch run() {
    see_all_items();
    run_epoch();
    const Time filled = end();
    epoch_ = {};
    run_epoch();
    epoch_.duration = end() - filled;
    epoch_.samples = iterations_per_epoch(data_, job_) * job_.samples * data_.servers * data_.jobs;
    return epoch_;
  }

 private:
  struct Server {
    std::unique_ptr<ItemCache> cache;
    Time fetch_free{}, cores_free{};
  };

  // Several servers read a part of the items each, another one in each epoch: after many, all have seen all. What
  // another one's memory has, servers do not read from storage where caches are partitioned.
  void see_all_items() {
    if (from_ != LoadedFrom::Storage || servers_.size() == 1 || !data_.shuffled) return;
    for (ReadingOrder& order : orders_) {
      order.begin_epoch();
      for (std::size_t server = 0; server < servers_.size(); ++server)
        for (std::int64_t i = 0; i < data_.items; ++i)
          read(servers_[(server + static_cast<std::size_t>(i)) % servers_.size()], order.item(i));
    }
  }

  Time end() const { return *std::ranges::max_element(gpus_free_); }

  void run_epoch() {
    for (ReadingOrder& order : orders_) order.begin_epoch();
    const std::int64_t iterations = iterations_per_epoch(data_, job_);
    for (std::int64_t i = 0; i < iterations; ++i, ++iteration_)
      for (std::size_t reader = 0; reader < orders_.size(); ++reader) step(reader, i);
  }

  // The batches of one iteration, and the iteration. Coordinated jobs take the same ones at the same time.
  void step(std::size_t reader, std::int64_t iteration_of_epoch) {
    Time& slot = taken_[reader][static_cast<std::size_t>(iteration_ % data_.prefetch)];
    Time ready = gpus_free_[reader];
    for (std::size_t server = 0; server < servers_.size(); ++server)
      for (int gpu = 0; gpu < job_.gpus; ++gpu) {
        const std::int64_t share = iteration_of_epoch * data_.servers + static_cast<std::int64_t>(server);
        ready = std::max(ready, prepare(servers_[server], orders_[reader], share * job_.samples + gpu * batch_, slot));
      }
    slot = ready;
    gpus_free_[reader] = ready + job_.iteration;
  }

  // When the batch that starts at `place` of the order is prepared; it is not begun before `slot`.
  Time prepare(Server& server, const ReadingOrder& order, std::int64_t place, Time slot) {
    if (from_ == LoadedFrom::Synthetic) return slot;
    server.fetch_free = std::max(server.fetch_free, slot) + fetch(server, order, place);
    server.cores_free = std::max(server.cores_free, server.fetch_free) +
                        from_seconds(static_cast<double>(batch_) / (data_.prep_rate * data_.cores));
    return server.cores_free;
  }

  Duration fetch(Server& server, const ReadingOrder& order, std::int64_t place) {
    ItemCounts batch{.cached = from_ == LoadedFrom::Memory ? batch_ : 0};
    if (from_ == LoadedFrom::Storage)
      for (std::int64_t i = place; i < place + batch_; ++i) ++(batch.*read(server, order.item(i)));
    epoch_.items.cached += batch.cached;
    epoch_.items.remote += batch.remote;
    epoch_.items.stored += batch.stored;
    return transfer_time(data_.item_bytes * batch.cached, job_.memory_read) +
           transfer_time(data_.item_bytes * batch.remote, data_.network) +
           transfer_time(data_.item_bytes * batch.stored, data_.storage.read);
  }

  // Where the item comes from. What others' memory has stays there; what comes from storage may stay here.
  std::int64_t ItemCounts::*read(Server& server, std::int64_t item) {
    const bool here = server.cache->has(item);
    const auto has = [&](const Server& other) { return other.cache->has(item); };
    if (!here && data_.partitioned && std::ranges::any_of(servers_, has)) return &ItemCounts::remote;
    server.cache->read(item);
    return here ? &ItemCounts::cached : &ItemCounts::stored;
  }

  const DataConfig& data_;
  const TrainingJob& job_;
  const LoadedFrom from_;
  const int readers_;  // jobs that read for themselves
  const std::int64_t batch_;
  std::vector<Server> servers_;
  std::vector<ReadingOrder> orders_;      // by reader
  std::vector<std::vector<Time>> taken_;  // by reader and iteration modulo prefetch: when the GPUs took the batches
  std::vector<Time> gpus_free_;           // by reader
  std::int64_t iteration_ = 0;            // of all epochs
  LoadedEpoch epoch_;
};

}  // namespace

std::int64_t iterations_per_epoch(const DataConfig& data, const TrainingJob& job) {
  return data.items / (job.samples * data.servers);
}

LoadedEpoch load_epoch(const DataConfig& data, const TrainingJob& job, LoadedFrom from) {
  UVMSIM_CHECK(job.samples > 0 && job.samples % job.gpus == 0, "batches of a job's GPUs differ");
  UVMSIM_CHECK(iterations_per_epoch(data, job) > 0, "an epoch without an iteration");
  return Loader(data, job, from).run();
}

}  // namespace uvmsim
