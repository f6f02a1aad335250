#include "loading/data_loader.h"

#include <gtest/gtest.h>

namespace uvmsim {
namespace {

// 1000 items of 1 MB: storage reads 100 a second, memory 10,000, the four cores prepare 200.
DataConfig data_of(const std::string& cache, std::int64_t cached_items) {
  DataConfig data;
  data.items = 1000;
  data.item_bytes = Bytes{1'000'000};
  data.storage.read = BytesPerSecond{100'000'000};
  data.network = BytesPerSecond{1'000'000'000};
  data.cache_factory = item_caches().find(cache)->make();
  data.cache_memory = Bytes{cached_items * 1'000'000};
  data.cores = 4;
  data.prep_rate = 50;
  return data;
}

// Two GPUs that take 5 samples each every 20 ms: 500 a second.
const TrainingJob kJob{
    .iteration = microseconds(20'000), .samples = 10, .gpus = 2, .memory_read = BytesPerSecond{10'000'000'000}};

// 1000 / 500 = 2 s; 1000 / 200 = 5 s; 1000 / 100 = 10 s.
TEST(DataLoader, RunsAtTheSlowestOfGpusCoresAndStorage) {
  const DataConfig data = data_of("lru", 0);
  EXPECT_EQ(load_epoch(data, kJob, LoadedFrom::Synthetic).duration, from_seconds(2));
  EXPECT_EQ(load_epoch(data, kJob, LoadedFrom::Memory).duration, from_seconds(5));
  EXPECT_EQ(load_epoch(data, kJob, LoadedFrom::Storage).duration, from_seconds(10));
  EXPECT_DOUBLE_EQ(load_epoch(data, kJob, LoadedFrom::Storage).samples_per_s(), 100);
}

// 500 items of 0.1 ms and 500 of 10 ms are 5.05 s of fetching, in whatever order they come where queues are long; the
// cores would take 2.5 s.
TEST(DataLoader, FetchesHitsFromMemoryAndTheOthersFromStorage) {
  DataConfig data = data_of("minio", 500);
  data.prefetch = 1000;
  data.cores = 8;
  const LoadedEpoch epoch = load_epoch(data, kJob, LoadedFrom::Storage);
  EXPECT_EQ(epoch.items.cached, 500);
  EXPECT_EQ(epoch.duration, from_seconds(5.05));
}

// A batch of 10 is fetched in 100 ms and prepared in 50 ms. With one place in the queue each waits for the batch before
// it to be taken: 150 ms an iteration; with two, only for the storage.
TEST(DataLoader, FetchesOneBatchWhileItPreparesAnotherWhereTheQueueHasTwo) {
  TrainingJob job = kJob;
  job.gpus = 1;
  DataConfig data = data_of("lru", 0);
  data.prefetch = 1;
  EXPECT_EQ(load_epoch(data, job, LoadedFrom::Storage).duration, from_seconds(100 * 0.15));
  data.prefetch = 2;
  EXPECT_EQ(load_epoch(data, job, LoadedFrom::Storage).duration, from_seconds(100 * 0.1));
}

// Four jobs share what cores prepare, 200 a second; when each prepared item is used four times, they train with 800.
TEST(DataLoader, PreparesOnceForAllJobsThatAreCoordinated) {
  DataConfig data = data_of("lru", 0);
  data.jobs = 4;
  EXPECT_DOUBLE_EQ(load_epoch(data, kJob, LoadedFrom::Memory).samples_per_s(), 200);
  EXPECT_EQ(load_epoch(data, kJob, LoadedFrom::Storage).items.stored, 4000);
  data.coordinated = true;
  EXPECT_DOUBLE_EQ(load_epoch(data, kJob, LoadedFrom::Memory).samples_per_s(), 800);
  EXPECT_EQ(load_epoch(data, kJob, LoadedFrom::Storage).items.stored, 1000);
}

// Each of two servers has room for half of the items. Alone it finds about half of its share there; together they have
// all, about half of them in the other one's.
TEST(DataLoader, FindsInOtherServersMemoryWhatItsOwnHasNot) {
  DataConfig data = data_of("minio", 500);
  data.servers = 2;
  const LoadedEpoch alone = load_epoch(data, kJob, LoadedFrom::Storage);
  EXPECT_EQ(alone.items.all(), 1000);
  EXPECT_NEAR(static_cast<double>(alone.items.stored), 500, 60);
  EXPECT_EQ(alone.items.remote, 0);
  data.partitioned = true;
  const LoadedEpoch together = load_epoch(data, kJob, LoadedFrom::Storage);
  EXPECT_EQ(together.items.stored, 0);
  EXPECT_NEAR(static_cast<double>(together.items.remote), 500, 60);
}

// After many epochs each of two servers has seen all items and keeps 650 of 1000. In the half that it reads it finds
// 325 +- 3 * sqrt(500 * 0.65 * 0.35 / 2) of them; with room for all, all.
TEST(DataLoader, FillsTheCachesOfSeveralServersFirst) {
  DataConfig data = data_of("minio", 650);
  data.servers = 2;
  const LoadedEpoch epoch = load_epoch(data, kJob, LoadedFrom::Storage);
  EXPECT_EQ(epoch.items.all(), 1000);
  EXPECT_NEAR(static_cast<double>(epoch.items.cached), 650, 2 * 23);
  data.cache_memory = Bytes{1000 * 1'000'000};
  EXPECT_EQ(load_epoch(data, kJob, LoadedFrom::Storage).items.cached, 1000);
}

// 1009 / 10: nine items are no iteration.
TEST(DataLoader, DropsTheLastIncompleteBatches) {
  DataConfig data = data_of("lru", 0);
  data.items = 1009;
  EXPECT_EQ(iterations_per_epoch(data, kJob), 100);
  EXPECT_EQ(load_epoch(data, kJob, LoadedFrom::Synthetic).samples, 1000);
}

}  // namespace
}  // namespace uvmsim
