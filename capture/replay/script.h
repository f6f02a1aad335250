#pragma once

#include <cstdint>
#include <fstream>
#include <sstream>
#include <stdexcept>
#include <string>
#include <vector>

// Reads the script that REPLAY.md describes. Plain C++: nothing of CUDA.
namespace replay {

struct Range {
  std::uint64_t address = 0;
  std::int64_t bytes = 0;
  int mode = 0;
  int passes = 1;
  bool reads() const { return (mode & 1) != 0; }
  bool writes() const { return (mode & 2) != 0; }
};

// One line. Which members mean something depends on the verb.
struct Step {
  enum class Verb {
    kAlloc,
    kFree,
    kKernel,
    kCopy,
    kPrefetch,
    kDiscard,
    kAdvise,
    kRecord,
    kWait,
    kSync,
    kHost,
    kIteration
  };
  Verb verb = Verb::kSync;
  std::uint64_t address = 0;
  std::int64_t bytes = 0;
  std::int64_t duration_ns = 0;
  std::int64_t gap_ns = 0;
  std::int64_t stream = 0;
  std::int64_t event = 0;
  int direction = 0;
  int to = 0;
  int advice = 0;
  bool managed = false, pinned = false, asynchronous = false, lazy = false;
  std::vector<Range> ranges;
};

struct Script {
  std::string name;
  std::string allocator, memory;
  std::vector<Step> steps;
  std::int64_t iterations = 0;
  std::int64_t peak_managed_bytes = 0;
};

// Throws std::runtime_error with the line.
inline Script read_script(std::istream& in) {
  Script script;
  std::int64_t managed = 0;
  std::vector<std::pair<std::uint64_t, std::int64_t>> live;
  std::string line;
  for (int number = 1; std::getline(in, line); ++number) {
    std::istringstream words(line);
    std::string verb;
    words >> verb;
    if (number == 1) {
      if (line != "uvmreplay 1") throw std::runtime_error("line 1: expected \"uvmreplay 1\"");
      continue;
    }
    if (verb == "name") {
      std::getline(words >> std::ws, script.name);
      continue;
    }
    if (verb == "host_op") continue;
    if (verb == "placement") {
      words >> script.allocator >> script.memory;
      continue;
    }
    Step step;
    std::int64_t count = 0;
    if (verb == "alloc") {
      std::string space;
      step.verb = Step::Verb::kAlloc;
      words >> step.address >> step.bytes >> space;
      step.managed = space == "m";
      if (step.managed) {
        managed += step.bytes;
        script.peak_managed_bytes = managed > script.peak_managed_bytes ? managed : script.peak_managed_bytes;
        live.emplace_back(step.address, step.bytes);
      }
    } else if (verb == "free") {
      step.verb = Step::Verb::kFree;
      words >> step.address;
      for (auto& each : live) {
        if (each.first != step.address) continue;
        managed -= each.second;
        each = live.back();
        live.pop_back();
        break;
      }
    } else if (verb == "kernel") {
      step.verb = Step::Verb::kKernel;
      words >> step.stream >> step.duration_ns >> step.gap_ns >> count;
    } else if (verb == "copy") {
      step.verb = Step::Verb::kCopy;
      words >> step.direction >> step.stream >> step.bytes >> step.pinned >> step.asynchronous;
    } else if (verb == "prefetch") {
      step.verb = Step::Verb::kPrefetch;
      words >> step.address >> step.bytes >> step.to >> step.stream;
    } else if (verb == "discard") {
      step.verb = Step::Verb::kDiscard;
      words >> step.address >> step.bytes >> step.stream >> step.lazy;
    } else if (verb == "advise") {
      step.verb = Step::Verb::kAdvise;
      words >> step.address >> step.bytes >> step.advice >> step.to;
    } else if (verb == "record" || verb == "wait") {
      step.verb = verb == "record" ? Step::Verb::kRecord : Step::Verb::kWait;
      words >> step.event >> step.stream;
    } else if (verb == "sync") {
      step.verb = Step::Verb::kSync;
      words >> step.stream;
    } else if (verb == "host") {
      step.verb = Step::Verb::kHost;
      words >> step.duration_ns >> count;
    } else if (verb == "iteration") {
      step.verb = Step::Verb::kIteration;
      words >> step.event;
      ++script.iterations;
    } else {
      throw std::runtime_error("line " + std::to_string(number) + ": unknown verb \"" + verb + "\"");
    }
    for (std::int64_t i = 0; i < count && words; ++i) {
      Range range;
      words >> range.address >> range.bytes >> range.mode >> range.passes;
      step.ranges.push_back(range);
    }
    std::string rest;
    if (!words || words >> rest) throw std::runtime_error("line " + std::to_string(number) + ": wrong number of words");
    script.steps.push_back(std::move(step));
  }
  if (script.iterations == 0) throw std::runtime_error("the script has no iteration");
  return script;
}

}  // namespace replay
