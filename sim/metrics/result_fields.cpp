#include "metrics/result_fields.h"

#include <algorithm>
#include <array>
#include <utility>

#include "base/check.h"

namespace uvmsim {
namespace {

template <class S>
S sum(S a, const S& b) {
  std::apply([&](const auto&... field) { ((a.*field.member += b.*field.member), ...); }, kFields<S>);
  return a;
}

constexpr std::array<std::pair<Outcome, std::string_view>, 7> kOutcomes = {
    {{Outcome::Completed, "completed"},
     {Outcome::OutOfMemory, "out_of_memory"},
     {Outcome::HostOutOfMemory, "host_out_of_memory"},
     {Outcome::Deadlock, "deadlock"},
     {Outcome::ContentsLost, "contents_lost"},
     {Outcome::IpcRefused, "ipc_refused"},
     {Outcome::NotManaged, "not_managed"}}};

}  // namespace

GpuCounts operator+(GpuCounts a, const GpuCounts& b) { return sum(a, b); }
TimeSplit operator+(TimeSplit a, const TimeSplit& b) { return sum(a, b); }

std::string_view name_of(Outcome outcome) {
  const auto found = std::ranges::find(kOutcomes, outcome, &std::pair<Outcome, std::string_view>::first);
  UVMSIM_CHECK(found != kOutcomes.end(), "every outcome has a name");
  return found->second;
}

Outcome outcome_named(std::string_view name) {
  const auto found = std::ranges::find(kOutcomes, name, &std::pair<Outcome, std::string_view>::second);
  UVMSIM_CHECK(found != kOutcomes.end(), "every name of an outcome has one");
  return found->first;
}

}  // namespace uvmsim
