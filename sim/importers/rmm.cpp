// RMM's logs: every allocation and free of RAPIDS' memory manager. Two forms, told apart by their first line:
// rmmWriteLog of 2019 (Logger::to_csv) and logging_resource_adaptor of today, which Spark's plug-in writes without it.
#include <string>
#include <unordered_map>

#include "importers/importer.h"
#include "importers/lines.h"
#include "importers/text_fields.h"

namespace uvmsim {
namespace {

constexpr std::string_view kHead2019 = "Event Type,Device ID,Address,Stream,Size (bytes)";
constexpr std::string_view kHeadToday = "Thread,Time,Action,Pointer,Size,Stream";

struct Event {
  enum class Kind { Allocate, Free, Reallocate, Failure };
  Kind kind = Kind::Allocate;
  std::uint64_t address = 0;
  std::int64_t bytes = 0, device = 0;
  std::string_view stream;
  std::int64_t device_memory = 0;  // 0: not said
};

std::int64_t integer(std::string_view text, std::string_view what) {
  const auto value = number_of<std::int64_t>(text);
  if (!value) expected(what, text);
  return *value;
}

std::uint64_t address(std::string_view text) {
  const auto value = address_in(text);
  if (!value) expected("an address", text);
  return *value;
}

Event event_of_2019(const std::vector<std::string_view>& columns) {
  if (columns.size() < 11)
    throw trace::ParseError{"expected at least 11 columns, found " + std::to_string(columns.size())};
  Event event;
  if (columns[0] == "Alloc")
    event.kind = Event::Kind::Allocate;
  else if (columns[0] == "Realloc")
    event.kind = Event::Kind::Reallocate;
  else if (columns[0] == "Free")
    event.kind = Event::Kind::Free;
  else
    expected("Alloc, Realloc or Free", columns[0]);
  event.device = integer(columns[1], "a device");
  event.address = address(columns[2]);
  event.stream = columns[3];
  event.bytes = integer(columns[4], "bytes");
  event.device_memory = integer(columns[6], "bytes");
  return event;
}

Event event_of_today(const std::vector<std::string_view>& columns) {
  if (columns.size() != 6) throw trace::ParseError{"expected 6 columns, found " + std::to_string(columns.size())};
  Event event;
  if (columns[2] == "allocate")
    event.kind = Event::Kind::Allocate;
  else if (columns[2] == "free" || columns[2] == "deallocate")
    event.kind = Event::Kind::Free;
  else if (columns[2] == "allocate failure")
    event.kind = Event::Kind::Failure;
  else
    expected("allocate, free or allocate failure", columns[2]);
  event.address = address(columns[3]);
  event.bytes = integer(columns[4], "bytes");
  event.stream = columns[5];
  return event;
}

class Log {
 public:
  explicit Log(ImportBuilder& into) : into_(into) {}

  void add(const Event& event) {
    switch (event.kind) {
      case Event::Kind::Failure:
        return into_.unknown("allocations that failed: left out");
      case Event::Kind::Free:
        if (event.address != 0 && !into_.free_at(event.address))
          into_.unknown("frees of what was allocated before the log began: left out");
        return;
      case Event::Kind::Reallocate:
        into_.unknown(
            "reallocations: the log does not say of what, so the old allocation stays until its address is used");
        break;
      case Event::Kind::Allocate:
        break;
    }
    if (event.bytes == 0) return into_.unknown("allocations of 0 bytes: left out");
    if (event.device_memory > 0) into_.device(event.device, {"", event.device_memory});
    into_.allocate_at(event.address, event.bytes, {.device = event.device, .stream = stream(event.stream)});
  }

 private:
  // Streams are printed as pointers or as numbers.
  std::int64_t stream(std::string_view text) {
    return streams_.try_emplace(std::string(text), static_cast<std::int64_t>(streams_.size())).first->second;
  }

  ImportBuilder& into_;
  std::unordered_map<std::string, std::int64_t> streams_;
};

class RmmImporter final : public Importer {
 public:
  std::string role(std::string_view head) const override {
    if (head.starts_with(kHead2019)) return "2019";
    if (head.starts_with(kHeadToday)) return "today";
    const auto columns = split(trimmed(head.substr(0, head.find('\n'))), ',');
    const bool is_event = columns.size() == 6 && (columns[2] == "allocate" || columns[2] == "free");
    return is_event && address_in(columns[3]) ? "headless" : "";
  }

  void import(const std::vector<ImportPart>& parts, ImportBuilder& into, trace::ErrorList& errors) const override {
    if (parts.size() != 1) {
      errors.add("rmm", "expected one log; RMM writes one per GPU, and each is a trace of its own");
      return;
    }
    const bool old = parts[0].role == "2019";
    into.header().provenance = old ? "RMM log in the form of 2019" : "RMM log of logging_resource_adaptor";
    into.header().durations = "none: the log has no kernels";
    Log log(into);
    each_line(*parts[0].file, errors, [&](std::string_view line, std::int64_t number) {
      if ((number == 1 && parts[0].role != "headless") || trimmed(line).empty()) return;
      const auto columns = split(trimmed(line), ',');
      log.add(old ? event_of_2019(columns) : event_of_today(columns));
    });
  }
};

const bool kRegistered = add_plug_in<Importer, RmmImporter>(
    {.name = "rmm",
     .summary = "allocations and frees of RAPIDS, as RMM logs them",
     .source = "rapidsai/rmm Logger::to_csv (2019), logging_resource_adaptor (today)"});

}  // namespace
}  // namespace uvmsim
