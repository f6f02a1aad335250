// A network of hosts, and of links that its flows share max-min fair: what SimGrid does for this project.
//
// SimGrid is in a library of its own (simgrid/network.cpp), opened when the first simulation starts: the program starts
// in a sixth of the time without it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

namespace uvmsim {

class Network {
 public:
  Network() = default;
  Network(const Network&) = delete;
  Network& operator=(const Network&) = delete;
  virtual ~Network() = default;

  // --- before it runs: hosts and links are numbered in order of their making
  virtual int add_host(const std::string& name) = 0;
  // In bytes per second. `shared`: by the flows on it; else each has all of it.
  virtual int add_link(const std::string& name, double capacity, bool shared) = 0;
  virtual void add_route(int from, int to, const std::vector<int>& links) = 0;
  // Calls `body`, once, with its clock at 0.
  virtual void run(const std::function<void()>& body) = 0;

  // --- while it runs
  virtual double clock() const = 0;  // seconds
  virtual void set_capacity(int link, double capacity) = 0;
  // Flows are numbered in order of their start, without those that have ended.
  virtual void start(int from, int to, std::uint64_t bytes) = 0;
  virtual std::size_t flows() const = 0;
  virtual double left(std::size_t flow) const = 0;  // bytes
  // Goes on for `seconds` (negative: as long as it takes), or to where the first flow ends, which is returned.
  virtual std::optional<std::size_t> advance(double seconds) = 0;
};

// Opens SimGrid's library; once is enough. Throws std::runtime_error where it does not find it.
void open_network_library();

// The network of this process, to be called once: SimGrid's engine keeps its clock.
Network& make_network();

}  // namespace uvmsim
