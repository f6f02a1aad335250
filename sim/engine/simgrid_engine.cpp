#include "engine/simgrid_engine.h"

#include <array>
#include <csignal>
#include <simgrid/s4u/Actor.hpp>
#include <simgrid/s4u/Engine.hpp>
#include <simgrid/s4u/Host.hpp>
#include <xbt/log.h>

#include "base/check.h"

namespace uvmsim {

namespace sg4 = simgrid::s4u;

namespace {

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

}  // namespace

void set_up_simgrid() {
  static int argc = 1;
  static std::array<char, 7> name{'u', 'v', 'm', 's', 'i', 'm', '\0'};
  static std::array<char*, 2> argv{name.data(), nullptr};
  static bool made = false;
  UVMSIM_CHECK(!made, "one simulation per process: SimGrid's engine keeps its clock");
  made = true;
  const KeepSignalHandlers keep;
  xbt_log_control_set("root.thresh:critical");
#if defined(__SANITIZE_ADDRESS__)
  sg4::Engine::set_config("contexts/factory:thread");  // ASan cannot follow SimGrid's own stacks; read when it starts
#endif
  static sg4::Engine engine(&argc, argv.data());
  sg4::Engine::set_config("network/model:CM02");      // the default models TCP
  sg4::Engine::set_config("network/crosstraffic:0");  // no acknowledgements
  sg4::Engine::set_config("surf/precision:1e-12");
}

bool run_actors(Flows& flows) {
  bool all_ended = false;
  sg4::Engine& engine = *sg4::Engine::get_instance();
  sg4::Actor::create("scheduler", engine.get_all_hosts().front(),
                     [&] { all_ended = scheduler().run([&flows](Time next) { return flows.advance(next); }); });
  engine.run();
  return all_ended;
}

}  // namespace uvmsim
