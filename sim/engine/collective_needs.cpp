#include "engine/collective_needs.h"

#include <iterator>
#include <map>
#include <utility>
#include <vector>

namespace uvmsim {
namespace {

class Needs {
 public:
  void take(const op::Collective& c) { streams_[c.stream].push_back({&c, kernels_[c.device]}); }
  void take(const op::EventRecord& e) { recorded_[e.event] = streams_[e.stream]; }
  void take(const op::EventWait& e) {
    std::vector<Issued>& waited = streams_[e.stream];
    const std::vector<Issued>& of = recorded_[e.event];
    waited.insert(waited.end(), of.begin(), of.end());
  }
  void take(const op::Kernel& k) {
    for (const auto& [collective, before] : std::exchange(streams_[k.stream], {}))
      found_.try_emplace(collective, kernels_[k.device] - before);
    ++kernels_[k.device];
  }
  void take(const auto&) {}

  std::unordered_map<const op::Collective*, std::int64_t> found() { return std::move(found_); }

 private:
  struct Issued {
    const op::Collective* collective = nullptr;
    std::int64_t before = 0;  // kernels of its device
  };
  std::map<std::int32_t, std::vector<Issued>> streams_;   // what the next kernel of each waits for
  std::map<std::int32_t, std::vector<Issued>> recorded_;  // what events wait for
  std::map<DeviceOrdinal, std::int64_t> kernels_;
  std::unordered_map<const op::Collective*, std::int64_t> found_;
};

}  // namespace

std::unordered_map<const op::Collective*, std::int64_t> kernels_before_need(const Program& program) {
  Needs needs;
  for (const Op& op : program.ops) std::visit([&](const auto& o) { needs.take(o); }, op);
  return needs.found();
}

}  // namespace uvmsim
