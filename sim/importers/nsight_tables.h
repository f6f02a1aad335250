// What single tables of an Nsight Systems export say.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "importers/import_builder.h"
#include "importers/managed_blocks.h"
#include "importers/nsight_touches.h"
#include "importers/sqlite_database.h"

namespace uvmsim {

// A row of CUPTI_ACTIVITY_KIND_KERNEL. Device and duration are those of `ran`.
struct NsightKernelRow {
  NsightTouches::Span ran;
  std::int64_t name = -1;  // into StringIds
  std::int64_t process = 0, correlation = -1;
  std::int64_t graph_node = 0;  // 0: of no CUDA graph, or not said
  bool graph = false;
  ImportBuilder::KernelFacts facts;
};

// The name of a row of CUPTI_ACTIVITY_KIND_GRAPH_TRACE: a CUDA graph that was recorded as a whole, which is the
// default.
inline constexpr std::int64_t kWholeGraph = -2;

// Kernels, and graphs that were recorded as a whole, by their start.
void each_nsight_kernel(const SqliteDatabase& database, const std::function<void(const NsightKernelRow&)>& on_kernel);

// EXPORT_SCHEMA_VERSION; "" where it is not stated.
std::string nsight_schema(const SqliteDatabase& database);

// The GPUs of the machine that recorded.
void describe_nsight_gpus(const SqliteDatabase& database, ImportBuilder& into);

// Ranges of managed memory that moved to a GPU, and those that moved anywhere or faulted.
std::vector<ManagedBlocks::Range> moved_to_gpus(const SqliteDatabase& database);
std::vector<ManagedBlocks::Range> moved_or_faulted(const SqliteDatabase& database);

}  // namespace uvmsim
