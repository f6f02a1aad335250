#include "importers/nsight_tables.h"

#include <algorithm>

#include "importers/nsight_enums.h"
#include "trace/format.h"

namespace uvmsim {
namespace {

// The product of three columns from `first` on; 0 when it is too large.
std::int64_t extent(const SqliteRow& row, int first) {
  double all = 1;
  for (int i = first; i < first + 3; ++i) all *= static_cast<double>(std::max<std::int64_t>(0, row.integer(i)));
  return all < 9e18 ? static_cast<std::int64_t>(all) : 0;
}

std::vector<NsightKernelRow> whole_graphs(const SqliteDatabase& database) {
  std::vector<NsightKernelRow> graphs;
  database.each_row("CUPTI_ACTIVITY_KIND_GRAPH_TRACE",
                    {"start", "end", "deviceId", "streamId", "correlationId", "globalPid"}, "start",
                    [&](const SqliteRow& row) {
                      NsightKernelRow graph{.ran = {row.required(0), row.required(1), row.required(2)},
                                            .name = kWholeGraph,
                                            .process = row.integer(5),
                                            .correlation = row.integer(4, -1),
                                            .graph = true,
                                            .facts = {}};
                      graph.facts.stream = row.integer(3);
                      graphs.push_back(graph);
                    });
  return graphs;
}

}  // namespace

void each_nsight_kernel(const SqliteDatabase& database, const std::function<void(const NsightKernelRow&)>& on_kernel) {
  const std::vector<NsightKernelRow> graphs = whole_graphs(database);
  auto graph = graphs.begin();
  database.each_row("CUPTI_ACTIVITY_KIND_KERNEL",
                    {"start", "end", "deviceId", "streamId", "correlationId", "demangledName", "shortName", "gridX",
                     "gridY", "gridZ", "blockX", "blockY", "blockZ", "registersPerThread", "staticSharedMemory",
                     "dynamicSharedMemory", "globalPid", "graphId", "graphNodeId"},
                    "start", [&](const SqliteRow& row) {
                      NsightKernelRow kernel{.ran = {row.required(0), row.required(1), row.required(2)}, .facts = {}};
                      kernel.name = row.integer(row.has(5) ? 5 : 6, -1);
                      kernel.process = row.integer(16);
                      kernel.correlation = row.integer(4, -1);
                      kernel.graph_node = row.integer(18);
                      kernel.graph = row.integer(17) != 0 || kernel.graph_node != 0;
                      kernel.facts.stream = row.integer(3);
                      kernel.facts.grid = extent(row, 7);
                      kernel.facts.block = extent(row, 10);
                      kernel.facts.registers = row.integer(13);
                      kernel.facts.shared_memory = row.integer(14) + row.integer(15);
                      for (; graph != graphs.end() && graph->ran.start <= kernel.ran.start; ++graph) on_kernel(*graph);
                      on_kernel(kernel);
                    });
  std::for_each(graph, graphs.end(), on_kernel);
}

std::string nsight_schema(const SqliteDatabase& database) {
  std::string version;
  for (const char* table : {"META_DATA_EXPORT", "EXPORT_META_DATA"})  // today; until 2022
    database.each_row(table, {"name", "value"}, "", [&](const SqliteRow& row) {
      if (row.text(0) == "EXPORT_SCHEMA_VERSION") version = row.text(1);
    });
  return version;
}

void describe_nsight_gpus(const SqliteDatabase& database, ImportBuilder& into) {
  database.each_row("TARGET_INFO_GPU", {"id", "name", "totalMemory", "memoryBandwidth"}, "", [&](const SqliteRow& row) {
    const std::int64_t id = row.integer(0);
    if (id < 0 || id > 127) return;
    into.device(id, {row.text(1), std::clamp<std::int64_t>(row.integer(2), 0, trace::kMostBytes), 0,
                     static_cast<double>(std::max<std::int64_t>(0, row.integer(3)))});
  });
}

std::vector<ManagedBlocks::Range> moved_to_gpus(const SqliteDatabase& database) {
  ManagedBlocks blocks;
  database.each_row("CUPTI_ACTIVITY_KIND_MEMCPY", {"copyKind", "virtualAddress", "bytes"}, "",
                    [&](const SqliteRow& row) {
                      if (row.integer(0) == kMigrationIn)
                        blocks.add(static_cast<std::uint64_t>(row.integer(1)), row.integer(2));
                    });
  return blocks.ranges();
}

std::vector<ManagedBlocks::Range> moved_or_faulted(const SqliteDatabase& database) {
  ManagedBlocks blocks;
  database.each_row("CUPTI_ACTIVITY_KIND_MEMCPY", {"copyKind", "virtualAddress", "bytes"}, "",
                    [&](const SqliteRow& row) {
                      if (is_migration(row.integer(0)) && row.integer(1) != 0)
                        blocks.add(static_cast<std::uint64_t>(row.integer(1)), row.integer(2));
                    });
  database.each_row("CUDA_UM_GPU_PAGE_FAULT_EVENTS", {"address"}, "",
                    [&](const SqliteRow& row) { blocks.add(static_cast<std::uint64_t>(row.integer(0)), 4096); });
  return blocks.ranges();
}

}  // namespace uvmsim
