#include "loading/data_config.h"

namespace uvmsim {

const Description& describe_storage() {
  using S = StorageSpec;
  static const Description d = Describe<S>("where the data set is; configs/machines/storage has some")
                                   .text("name", &S::name, "the storage's name")
                                   .bandwidth("read", &S::read,
                                              "rate at which whole items are read in random order, by all readers "
                                              "together; the default is a SATA SSD's 530 MB/s "
                                              "(assumed: Mohan et al., VLDB 2021)",
                                              {1, {}})
                                   .text("node", &S::node,
                                         "the memory of the machine that holds it, such as ssd0: its rate and its "
                                         "links' then limit `read`, too; \"\": none, and `read` counts alone")
                                   .build();
  return d;
}

const Description& describe_data() {
  using D = DataConfig;
  static const Description d =
      Describe<D>(
          "how training gets its data, for `uvmsim stalls`; every server has storage, memory and cores like this")
          .integer("items", &D::items, "items in the data set; the default is ImageNet's (ILSVRC 2012, training set)",
                   {1, 100'000'000}, "items")
          .bytes("item_bytes", &D::item_bytes,
                 "size of an item as it is stored; the default is ImageNet's mean: 144.8 GB of images (Dell EMC, Ready "
                 "Solutions for AI: Deep Learning with NVIDIA)",
                 {1, {}})
          .flag("shuffled", &D::shuffled,
                "whether each epoch reads the items in another random order; otherwise all read them in the same order")
          .section("storage", &D::storage, describe_storage(), "where the data set is")
          .plug_in("cache", &D::cache, "cache", "which items stay in host memory: a name from `uvmsim list cache`")
          .bytes("cache_memory", &D::cache_memory,
                 "host memory in which items may stay; the default is 64 GB, less than half of ImageNet (assumed)")
          .integer("cores", &D::cores,
                   "cores of a server that prepare items; the default is that of Mohan et al.'s servers", {1, 4096},
                   "cores")
          .number("prep_rate", &D::prep_rate,
                  "items that one core decodes and augments per second; the default is DALI's with ImageNet (assumed: "
                  "735 MB/s with 24 cores, Mohan et al., VLDB 2021)",
                  {0.000001, 1e9}, "items/s")
          .integer(
              "prefetch", &D::prefetch,
              "the most batches that may be under way to a GPU or wait for it: DALI's prefetch_queue_depth, 2 unless "
              "told otherwise",
              {1, 1024}, "batches")
          .integer("jobs", &D::jobs,
                   "jobs like this that run on each server at once, each with GPUs of its own, as in a search for "
                   "hyperparameters",
                   {1, 64}, "jobs")
          .flag("coordinated", &D::coordinated,
                "the jobs share what is fetched and prepared: each item is fetched once per epoch instead of once per "
                "job (CoorDL)")
          .integer("servers", &D::servers,
                   "servers that train together; each reads another share of the items every epoch", {1, 1024},
                   "servers")
          .flag("partitioned", &D::partitioned,
                "servers read items that are in another server's memory from there instead of from their storage "
                "(CoorDL)")
          .bandwidth(
              "network", &D::network,
              "network rate of a server, for items from others' memory; the default is 40 Gbit/s Ethernet's line rate",
              {1, {}})
          .build();
  return d;
}

}  // namespace uvmsim
