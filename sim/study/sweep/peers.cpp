#include "study/sweep/peers.h"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <thread>

#include "base/user_error.h"

namespace uvmsim {
namespace {

using Json = nlohmann::json;

// How long the leader and the others look after their own points before they listen again.
constexpr std::chrono::milliseconds kListen{10};
constexpr std::chrono::seconds kFarewell{30};  // how long the leader waits for the others' last words

// Messages:
//   {"free": 2}                        another process is there and has room for this many points
//   {"point": 17, "hash": "..."}       the leader asks for a point
//   {"point": 17, "outcome": ...}      how it ended
//   {"point": 17, "other": true}       the process has another point under that number
//   {"stop": true}                     the leader is done
//   {"gone": true, "fault": "..."}     the last one of another process: it will not listen any more, because of a fault
//                                      of its own or, without one, because it was told to stop
Json message_of(const PointOutcome& outcome) {
  return {{"point", outcome.point},   {"outcome", outcome.outcome},   {"error", outcome.error},
          {"report", outcome.report}, {"wall_s", outcome.wall_s},     {"cpu_s", outcome.cpu_s},
          {"worker", outcome.worker}, {"rss", outcome.peak_rss_bytes}};
}

PointOutcome outcome_of(const Json& message) {
  PointOutcome outcome;
  outcome.point = message.at("point");
  outcome.outcome = message.at("outcome");
  outcome.error = message.at("error");
  outcome.report = message.at("report");
  outcome.wall_s = message.at("wall_s");
  outcome.cpu_s = message.at("cpu_s");
  outcome.peak_rss_bytes = message.at("rss");
  outcome.worker = message.at("worker");
  return outcome;
}

}  // namespace

PeerWorkers::PeerWorkers(Peers& peers, std::unique_ptr<PointWorkers> here, const SweepPlan& plan)
    : peers_(peers), here_(std::move(here)), plan_(plan) {}

PeerWorkers::~PeerWorkers() {
  for (int rank = 1; rank < peers_.size(); ++rank)
    if (!gone_.contains(rank)) peers_.send(rank, Json{{"stop", true}}.dump());
  // A process that hands over a result is not free to hear that nobody wants it.
  const auto end = std::chrono::steady_clock::now() + kFarewell;
  while (static_cast<int>(gone_.size()) + 1 < peers_.size() && std::chrono::steady_clock::now() < end) {
    const std::optional<PeerMessage> message = peers_.receive();
    if (message && Json::parse(message->text).contains("gone")) gone_.insert(message->from);
    if (!message) std::this_thread::sleep_for(kListen);
  }
}

std::size_t PeerWorkers::free() const {
  std::size_t free = here_->free();
  for (const auto& [rank, room] : free_) free += room;
  return free;
}

std::size_t PeerWorkers::running() const {
  std::size_t running = here_->running();
  for (const auto& [rank, points] : running_) running += points.size();
  return running;
}

void PeerWorkers::start(std::size_t point) {
  if (here_->free() > 0) {
    here_->start(point);
    return;
  }
  const auto least_busy = std::ranges::max_element(free_, {}, [](const auto& entry) { return entry.second; });
  --least_busy->second;
  running_[least_busy->first].insert(point);
  peers_.send(least_busy->first, Json{{"point", point}, {"hash", plan_.points()[point].hash}}.dump());
}

std::vector<PointOutcome> PeerWorkers::wait(std::chrono::milliseconds time) {
  std::vector<PointOutcome> ended = here_->wait(std::min(time, kListen));
  while (const std::optional<PeerMessage> message = peers_.receive()) hear(*message, ended);
  return ended;
}

void PeerWorkers::hear(const PeerMessage& message, std::vector<PointOutcome>& ended) {
  const Json json = Json::parse(message.text);
  if (json.contains("free")) {
    free_[message.from] = json.at("free");
    return;
  }
  if (json.contains("gone")) {
    gone_.insert(message.from);
    if (json.contains("fault")) throw UserError("process " + std::to_string(message.from), json.at("fault"));
    free_.erase(message.from);
    for (const std::size_t point : running_[message.from]) ended.emplace_back().point = point;
    running_.erase(message.from);
    return;
  }
  ++free_[message.from];
  running_[message.from].erase(json.at("point").get<std::size_t>());
  if (json.contains("other"))
    throw UserError(plan_.sources().config, "process " + std::to_string(message.from) +
                                                " has other points under the same numbers: it reads another config, "
                                                "or another version of uvmsim");
  ended.push_back(outcome_of(json));
}

namespace {

void serve(Peers& peers, PointWorkers& here, const SweepPlan& plan, const std::function<bool()>& stopped) {
  peers.send(0, Json{{"free", here.free()}}.dump());
  while (!stopped()) {
    while (const std::optional<PeerMessage> message = peers.receive()) {
      const Json json = Json::parse(message->text);
      if (json.contains("stop")) return;
      const std::size_t point = json.at("point");
      if (point < plan.points().size() && plan.points()[point].hash == json.at("hash"))
        here.start(point);
      else
        peers.send(0, Json{{"point", point}, {"other", true}}.dump());
    }
    for (const PointOutcome& outcome : here.wait(kListen)) peers.send(0, message_of(outcome).dump());
  }
}

}  // namespace

void serve_points(Peers& peers, PointWorkers& here, const SweepPlan& plan, const std::function<bool()>& stopped) {
  serve(peers, here, plan, stopped);
  peers.send(0, Json{{"gone", true}}.dump());
}

void give_up(Peers& peers, const std::string& fault) { peers.send(0, Json{{"gone", true}, {"fault", fault}}.dump()); }

}  // namespace uvmsim
