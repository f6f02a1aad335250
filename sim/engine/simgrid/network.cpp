// SimGrid's engine, set up as this project uses it. In a library of its own, which uses nothing of the program's.
#include "engine/network.h"

#include <algorithm>
#include <array>
#include <csignal>
#include <simgrid/s4u/Actor.hpp>
#include <simgrid/s4u/Comm.hpp>
#include <simgrid/s4u/Engine.hpp>
#include <simgrid/s4u/Host.hpp>
#include <simgrid/s4u/Link.hpp>
#include <simgrid/s4u/NetZone.hpp>
#include <xbt/log.h>

namespace uvmsim {
namespace {

namespace sg4 = simgrid::s4u;

// SimGrid answers an interrupt and a crash itself, with exit statuses of its own. The program has its own:
// the handlers of the beginning come back at the end of this object.
class KeepSignalHandlers {
 public:
  KeepSignalHandlers() {
    for (std::size_t i = 0; i < kTaken.size(); ++i) sigaction(kTaken[i], nullptr, &handlers_[i]);
  }
  ~KeepSignalHandlers() {
    for (std::size_t i = 0; i < kTaken.size(); ++i) sigaction(kTaken[i], &handlers_[i], nullptr);
  }
  KeepSignalHandlers(const KeepSignalHandlers&) = delete;
  KeepSignalHandlers& operator=(const KeepSignalHandlers&) = delete;

 private:
  static constexpr std::array kTaken{SIGINT, SIGSEGV, SIGBUS};
  std::array<struct sigaction, kTaken.size()> handlers_{};
};

sg4::Engine& set_up_engine() {
  static int argc = 1;
  static std::array<char, 7> name{'u', 'v', 'm', 's', 'i', 'm', '\0'};
  static std::array<char*, 2> argv{name.data(), nullptr};
  const KeepSignalHandlers keep;
  xbt_log_control_set("root.thresh:critical");
#if defined(__SANITIZE_ADDRESS__)
  sg4::Engine::set_config("contexts/factory:thread");  // ASan cannot follow SimGrid's own stacks; read when it starts
#endif
  static sg4::Engine engine(&argc, argv.data());
  sg4::Engine::set_config("network/model:CM02");      // the default models TCP
  sg4::Engine::set_config("network/crosstraffic:0");  // no acknowledgements
  sg4::Engine::set_config("surf/precision:1e-12");
  return engine;
}

class SimgridNetwork final : public Network {
 public:
  SimgridNetwork() : engine_(set_up_engine()), zone_(sg4::create_full_zone("machine")) {}

  int add_host(const std::string& name) override {
    hosts_.push_back(zone_->create_host(name, 1e9)->seal());
    return static_cast<int>(hosts_.size()) - 1;
  }

  int add_link(const std::string& name, double capacity, bool shared) override {
    // A link with latency would share unequally.
    sg4::Link* const link = zone_->create_link(name, capacity)->set_latency(0);
    if (!shared) link->set_sharing_policy(sg4::Link::SharingPolicy::FATPIPE);
    links_.push_back(link->seal());
    return static_cast<int>(links_.size()) - 1;
  }

  void add_route(int from, int to, const std::vector<int>& links) override {
    std::vector<sg4::LinkInRoute> route;
    for (const int link : links) route.emplace_back(links_.at(link));
    zone_->add_route(hosts_.at(from)->get_netpoint(), hosts_.at(to)->get_netpoint(), nullptr, nullptr, route, false);
  }

  void run(const std::function<void()>& body) override {
    zone_->seal();
    sg4::Actor::create("scheduler", engine_.get_all_hosts().front(), body);
    engine_.run();
  }

  double clock() const override { return sg4::Engine::get_clock(); }
  void set_capacity(int link, double capacity) override { links_[link]->set_bandwidth(capacity); }

  void start(int from, int to, std::uint64_t bytes) override {
    const sg4::CommPtr flow = sg4::Comm::sendto_init();
    flow->set_payload_size(bytes);
    flow->set_source(hosts_[from])->set_destination(hosts_[to]);  // the last of these starts it
    flows_.push_back(flow);
  }
  std::size_t flows() const override { return flows_.size(); }
  double left(std::size_t flow) const override { return flows_[flow]->get_remaining(); }

  std::optional<std::size_t> advance(double seconds) override {
    if (flows_.empty()) {
      if (seconds > 0) sg4::this_actor::sleep_for(seconds);
      return std::nullopt;
    }
    const ssize_t ended = sg4::Comm::wait_any_for(flows_, seconds < 0 ? -1 : seconds);
    if (ended < 0) return std::nullopt;
    flows_.erase(flows_.begin() + ended);
    return static_cast<std::size_t>(ended);
  }

 private:
  sg4::Engine& engine_;
  sg4::NetZone* zone_;
  std::vector<sg4::Host*> hosts_;
  std::vector<sg4::Link*> links_;
  std::vector<sg4::CommPtr> flows_;
};

}  // namespace

extern "C" Network& uvmsim_make_network() {
  // Never destroyed: the stacks of actors that have not ended refer to it.
  static auto* const network = new SimgridNetwork;  // NOLINT(cppcoreguidelines-avoid-non-const-global-variables)
  return *network;
}

}  // namespace uvmsim
