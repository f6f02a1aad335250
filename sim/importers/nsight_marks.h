// What programs mark in an Nsight Systems export: NVTX ranges, and what NCCL says of its calls in its own.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "importers/host_ranges.h"
#include "importers/sqlite_database.h"
#include "trace/record.h"

namespace uvmsim {

// A host call: its thread (globalTid) and when it began, in ns.
struct NsightLaunch {
  std::int64_t thread = -1, time = 0;
};

class NsightMarks {
 public:
  // Names in `strings`, by id.
  void read(const SqliteDatabase& database, const std::unordered_map<std::int64_t, std::string>& strings);

  // Ranges of the default domain: other domains are libraries'.
  const HostRanges& ranges() const { return ranges_; }

  // The call that made a node of a CUDA graph, which a node of an instance of the graph leads to; nullopt: not
  // recorded.
  std::optional<NsightLaunch> creation(std::int64_t graph_node) const;

  // The collective that a kernel of NCCL runs: the calls of NCCL on the thread of its launch, up to it, since the last
  // such kernel. Sends and receives of one group are an all-to-all. nullopt: no call, calls that differ, or of how many
  // bytes is not said. Call in the order of launches.
  struct Collective {
    trace::Collective kind = trace::Collective::AllReduce;
    std::int64_t bytes = 0, ranks = 0;  // of the whole buffer; ranks 0: not known
    std::int32_t communicator = 0;
  };
  std::optional<Collective> collective(const NsightLaunch& launch);

 private:
  struct Call {
    std::int64_t time = 0;
    std::optional<trace::Collective> kind;
    std::int64_t bytes = -1;  // as NCCL is told; -1: not said
    std::uint64_t communicator = 0;
  };
  // Where a payload has what of NCCL's matters: bytes from its start; -1: nowhere.
  struct Schema {
    std::int64_t bytes = -1, communicator = -1, ranks = -1;
  };

  void read_schemas(const SqliteDatabase& database);
  void read_graph_nodes(const SqliteDatabase& database);
  struct Group;
  std::optional<Collective> collective_of(const Group& group);
  void nccl_call(std::int64_t thread, std::int64_t time, const std::string& name, const std::string& payload);

  HostRanges ranges_;
  std::map<std::pair<std::int64_t, std::int64_t>, Schema> schemas_;  // by domain and schema
  std::map<std::int64_t, std::vector<Call>> calls_;                  // by thread, in order
  std::map<std::int64_t, std::size_t> taken_;                        // of these
  std::map<std::uint64_t, std::int64_t> ranks_;                      // by communicator
  std::map<std::uint64_t, std::int32_t> communicators_;              // numbered as they are met
  struct Node {
    NsightLaunch launch;
    std::int64_t original = 0;  // 0: it is none's copy
  };
  std::unordered_map<std::int64_t, Node> nodes_;
};

}  // namespace uvmsim
