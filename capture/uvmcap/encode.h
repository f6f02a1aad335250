#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <unordered_map>

#include "record.h"

namespace uvmcap {

// Turns records into the lines of capture/FORMAT.md, appended to `out`. Keeps the table of strings: the first use of a
// name puts its `str` line before the line. Not thread-safe.
class Encoder {
 public:
  void encode(const Header& header, std::string& out);
  void encode(const DeviceInfo& device, std::string& out);
  void encode(const StreamInfo& stream, std::string& out);
  void encode(const Note& note, std::string& out);
  void encode(const Failure& failure, std::string& out);
  void encode(const Dropped& dropped, std::string& out);
  void encode(const Limit& limit, std::string& out);
  void encode(const End& end, std::string& out);

  void encode(const Allocation& allocation, std::string& out);
  void encode(const Release& release, std::string& out);
  void encode(const Launch& launch, std::string& out);
  void encode(const Copy& copy, std::string& out);
  void encode(const Set& set, std::string& out);
  void encode(const Prefetch& prefetch, std::string& out);
  void encode(const Discard& discard, std::string& out);
  void encode(const Advise& advise, std::string& out);
  void encode(const Synchronize& synchronize, std::string& out);
  void encode(const EventRecord& record, std::string& out);
  void encode(const EventWait& wait, std::string& out);
  void encode(const GraphLaunch& launch, std::string& out);
  void encode(const Mark& mark, std::string& out);

  void encode(const KernelRun& run, std::string& out);
  void encode(const CopyRun& run, std::string& out);
  void encode(const SetRun& run, std::string& out);
  void encode(const UnifiedMemoryEvent& event, std::string& out);

 private:
  std::uint64_t string_index(const std::string& text, std::string& out);

  std::unordered_map<std::string, std::uint64_t> strings_;
};

}  // namespace uvmcap
