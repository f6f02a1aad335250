#include "importers/nsight_marks.h"

#include <algorithm>
#include <cstring>
#include <string_view>

#include "importers/nccl.h"
#include "trace/format.h"

namespace uvmsim {
namespace {

// ENUM_NSYS_EVENT_TYPE of the export.
enum : std::int64_t { kPushPop = 59, kStartEnd = 60, kDomain = 75 };

// A payload by its schema in NVTX_EVENTS.binaryData, little-endian: domain, 0, schema, 0 (4 bytes each), the payload's
// size, the whole size (8 bytes each), the payload. As exports of 2026 have it, by others who decode them.
constexpr std::size_t kPayloadHeader = 32;

// What stands at `offset` of a payload that begins at `begin`; nullopt where it is not all there.
template <class T>
std::optional<T> value_at(const std::string& bytes, std::size_t begin, std::int64_t offset) {
  T value{};
  if (offset < 0 || static_cast<std::uint64_t>(offset) > bytes.size()) return std::nullopt;
  if (begin + static_cast<std::size_t>(offset) + sizeof value > bytes.size()) return std::nullopt;
  std::memcpy(&value, bytes.data() + begin + offset, sizeof value);
  return value;
}

}  // namespace

void NsightMarks::read(const SqliteDatabase& database, const std::unordered_map<std::int64_t, std::string>& strings) {
  read_schemas(database);
  read_graph_nodes(database);
  std::map<std::int64_t, std::string> domains;
  const std::vector<std::string> columns = {"start",  "end",       "eventType", "text",
                                            "textId", "globalTid", "domainId",  "binaryData"};
  const auto name_of = [&](const SqliteRow& row) {
    const auto registered = strings.find(row.integer(4, -1));
    return registered == strings.end() ? row.text(3) : registered->second;
  };
  database.each_row("NVTX_EVENTS", columns, "", [&](const SqliteRow& row) {
    if (row.integer(2) == kDomain) domains[row.integer(6)] = name_of(row);
  });
  database.each_row("NVTX_EVENTS", columns, "start", [&](const SqliteRow& row) {
    const std::int64_t type = row.integer(2), domain = row.integer(6);
    if (type != kPushPop && type != kStartEnd) return;
    const std::string name = name_of(row);
    if (domain == 0 && row.has(1)) ranges_.add(row.integer(5), row.required(0), row.integer(1), name);
    const auto library = domains.find(domain);
    if (library != domains.end() && library->second == "NCCL")
      nccl_call(row.integer(5), row.required(0), name, row.text(7));
  });
  ranges_.sort();
}

// NCCL names the entries of its payloads (src/include/nvtx_payload_schemas.h).
void NsightMarks::read_schemas(const SqliteDatabase& database) {
  database.each_row("NVTX_PAYLOAD_SCHEMA_ENTRIES", {"domainId", "schemaId", "name", "offset"}, "",
                    [&](const SqliteRow& row) {
                      Schema& schema = schemas_[{row.integer(0), row.integer(1)}];
                      const std::string name = row.text(2);
                      if (name == "Message size [bytes]") schema.bytes = row.integer(3);
                      if (name == "NCCL communicator ID") schema.communicator = row.integer(3);
                      if (name == "No. of ranks") schema.ranks = row.integer(3);
                    });
}

void NsightMarks::read_graph_nodes(const SqliteDatabase& database) {
  database.each_row("CUDA_GRAPH_NODE_EVENTS", {"start", "globalTid", "graphNodeId", "originalGraphNodeId"}, "",
                    [&](const SqliteRow& row) {
                      nodes_[row.integer(2)] = {{row.integer(1), row.required(0)}, row.integer(3)};
                    });
}

std::optional<NsightLaunch> NsightMarks::creation(std::int64_t graph_node) const {
  auto node = nodes_.find(graph_node);
  // An instance's node is a copy of the graph's, which may be a copy of a captured one: a few steps.
  for (int step = 0; step < 8 && node != nodes_.end() && node->second.original != 0; ++step)
    node = nodes_.find(node->second.original);
  return node == nodes_.end() ? std::nullopt : std::optional(node->second.launch);
}

void NsightMarks::nccl_call(std::int64_t thread, std::int64_t time, const std::string& name,
                            const std::string& payload) {
  const auto domain = value_at<std::uint32_t>(payload, 0, 0), id = value_at<std::uint32_t>(payload, 0, 8);
  const auto size = value_at<std::uint64_t>(payload, 0, 24);
  const auto schema = !domain || !id ? schemas_.end() : schemas_.find({*domain, *id});
  Call call{.time = time, .kind = nccl_collective(name)};
  if (schema != schemas_.end() && size == payload.size()) {
    const Schema& at = schema->second;
    call.communicator = value_at<std::uint64_t>(payload, kPayloadHeader, at.communicator).value_or(0);
    if (const auto ranks = value_at<std::int32_t>(payload, kPayloadHeader, at.ranks); ranks > 0)
      ranks_[call.communicator] = *ranks;
    const auto bytes = value_at<std::uint64_t>(payload, kPayloadHeader, at.bytes);
    if (bytes && *bytes <= static_cast<std::uint64_t>(trace::kMostBytes))
      call.bytes = static_cast<std::int64_t>(*bytes);
  }
  // Groups, and what makes and ends communicators, move nothing.
  if (call.kind || call.bytes >= 0) calls_[thread].push_back(call);
}

// What the calls that one kernel runs come to.
struct NsightMarks::Group {
  const Call* first = nullptr;
  bool agree = true;  // all are of one kind, or sends and receives, and say their bytes
  std::int64_t bytes = 0, sends = 0, sent = 0;

  static bool is_with_peer(const Call& call) {
    return call.kind == trace::Collective::Send || call.kind == trace::Collective::Receive;
  }
  void add(const Call& call) {
    if (first == nullptr) first = &call;
    agree = agree && call.kind && call.bytes > 0 && call.communicator == first->communicator &&
            (call.kind == first->kind || (is_with_peer(call) && is_with_peer(*first)));
    if (!agree) return;
    bytes = std::min(trace::kMostBytes, bytes + call.bytes);
    if (call.kind == trace::Collective::Send) ++sends, sent = std::min(trace::kMostBytes, sent + call.bytes);
  }
};

std::optional<NsightMarks::Collective> NsightMarks::collective_of(const Group& group) {
  if (group.first == nullptr || !group.agree) return std::nullopt;
  const Call& call = *group.first;
  const auto known = ranks_.find(call.communicator);
  Collective all{.kind = *call.kind, .ranks = known == ranks_.end() ? 0 : known->second};
  if (!Group::is_with_peer(call)) {
    all.bytes = nccl_buffer(all.kind, group.bytes, all.ranks);
  } else {
    all.kind = group.sends > 1    ? trace::Collective::AllToAll
               : group.sends == 1 ? trace::Collective::Send
                                  : trace::Collective::Receive;
    all.bytes = group.sends > 0 ? group.sent : group.bytes;
  }
  if (all.bytes == 0) return std::nullopt;
  const auto next = static_cast<std::int32_t>(communicators_.size());
  all.communicator = communicators_.try_emplace(call.communicator, next).first->second;
  return all;
}

std::optional<NsightMarks::Collective> NsightMarks::collective(const NsightLaunch& launch) {
  const auto calls = calls_.find(launch.thread);
  if (calls == calls_.end()) return std::nullopt;
  Group group;
  std::size_t& taken = taken_[launch.thread];
  for (; taken < calls->second.size() && calls->second[taken].time <= launch.time; ++taken)
    group.add(calls->second[taken]);
  return collective_of(group);
}

}  // namespace uvmsim
