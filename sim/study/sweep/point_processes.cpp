#include <algorithm>
#include <array>
#include <cerrno>
#include <csignal>
#include <fstream>
#include <new>
#include <nlohmann/json.hpp>
#include <poll.h>
#include <set>
#include <stdexcept>
#include <sys/mman.h>
#include <system_error>
#include <unistd.h>

#include "base/number_text.h"
#include "study/child_process.h"
#include "study/shared_work.h"
#include "study/sweep/point_workers.h"

namespace uvmsim {
namespace {

using Clock = std::chrono::steady_clock;

constexpr std::chrono::milliseconds kLook{200};  // between two looks at what the points take

// The resident size of `process` and its descendants.
std::int64_t resident_bytes(pid_t process) {
  const std::string folder = "/proc/" + std::to_string(process);
  std::int64_t total_pages = 0, resident_pages = 0;
  std::ifstream(folder + "/statm") >> total_pages >> resident_pages;
  std::int64_t bytes = resident_pages * sysconf(_SC_PAGESIZE);
  std::ifstream children(folder + "/task/" + std::to_string(process) + "/children");
  for (pid_t child = 0; children >> child;) bytes += resident_bytes(child);
  return bytes;
}

// A file without a name, for what a child writes to stderr.
class ErrorText {
 public:
  ErrorText() : file_(memfd_create("stderr of a point", MFD_CLOEXEC)) {}
  ~ErrorText() {
    if (file_ >= 0) close(file_);
  }
  ErrorText(const ErrorText&) = delete;
  ErrorText& operator=(const ErrorText&) = delete;

  // In the child.
  void take_stderr() const {
    if (file_ >= 0) dup2(file_, STDERR_FILENO);
  }
  // The end of what was written.
  std::string text() const {
    std::array<char, 2000> buffer{};
    const off_t size = file_ < 0 ? 0 : lseek(file_, 0, SEEK_END);
    const off_t start = std::max<off_t>(size - static_cast<off_t>(buffer.size()), 0);
    const ssize_t count = size == 0 ? 0 : pread(file_, buffer.data(), buffer.size(), start);
    std::string text(buffer.data(), static_cast<std::size_t>(std::max<ssize_t>(count, 0)));
    while (text.ends_with('\n')) text.pop_back();
    return text;
  }

 private:
  int file_;
};

PointOutcome interrupted(std::size_t point) {
  PointOutcome outcome;
  outcome.point = point;
  outcome.outcome = "failed";
  outcome.error = "interrupted";
  return outcome;
}

// What the child hands over: the report, or '!' and why there is none.
std::string simulate_in_child(const PointProcesses::Simulate& simulate, std::size_t point, const ErrorText& errors) {
  errors.take_stderr();
  std::signal(SIGTERM, SIG_DFL);  // what ends the sweep ends its points: by their parent, which has heard of it
  try {
    return simulate(point);
  } catch (const std::bad_alloc&) {
    return "!out of memory on this machine";
  } catch (const std::exception& error) {
    return std::string("!") + error.what();
  }
}

}  // namespace

struct PointProcesses::Running {
  explicit Running(std::size_t which) : point(which) {}

  std::size_t point;
  Clock::time_point started = Clock::now();
  ErrorText errors = {};
  std::unique_ptr<ChildProcess> child = nullptr;
};

void run_points(std::size_t count, const PointProcesses::Simulate& simulate, int processes, PointLimits limits,
                const std::function<void(const PointOutcome&)>& note, const PointWatch& watch) {
  const SharedWork shared(processes);
  // As many again may wait for what others do.
  PointProcesses workers(simulate, 2 * static_cast<std::size_t>(processes), limits);
  std::set<std::size_t> left;  // points that have not ended
  for (std::size_t point = 0; point < count; ++point) left.insert(left.end(), point);
  std::size_t started = 0;
  while (!left.empty() && !(watch.stopped && watch.stopped())) {
    while (started < count && workers.free() > 0) workers.start(started++);
    for (const PointOutcome& outcome : workers.wait(std::chrono::milliseconds(200))) {
      note(outcome);
      left.erase(outcome.point);
    }
    const std::size_t done = count - left.size();
    if (watch.progress) watch.progress(static_cast<double>(done) + workers.shares(), done, count);
  }
  for (const std::size_t point : left) note(interrupted(point));
}

std::string worker_name() {
  std::array<char, 256> host{};
  gethostname(host.data(), host.size() - 1);
  return std::string(host.data()) + ":" + std::to_string(getpid());
}

PointProcesses::PointProcesses(Simulate simulate, std::size_t count, PointLimits limits)
    : simulate_(std::move(simulate)), count_(count), limits_(limits) {}

PointProcesses::~PointProcesses() = default;

std::size_t PointProcesses::free() const { return count_ - running_.size(); }

std::size_t PointProcesses::running() const { return running_.size(); }

double PointProcesses::shares() const {
  double all = 0;
  for (const auto& each : running_) all += each->child->share();
  return all;
}

void PointProcesses::start(std::size_t point) {
  auto running = std::make_unique<Running>(point);
  running->child = std::make_unique<ChildProcess>(
      [this, point, &errors = running->errors] { return simulate_in_child(simulate_, point, errors); });
  running_.push_back(std::move(running));
}

std::vector<PointOutcome> PointProcesses::wait(std::chrono::milliseconds time) {
  std::vector<PointOutcome> ended;
  for (const Clock::time_point end = Clock::now() + time; ended.empty();) {
    std::vector<pollfd> handles;
    for (const auto& each : running_) handles.push_back({each->child->handle(), POLLIN, 0});
    const auto left = std::chrono::ceil<std::chrono::milliseconds>(end - Clock::now());
    const auto pause = std::clamp(left, std::chrono::milliseconds(0), kLook);
    if (poll(handles.data(), handles.size(), static_cast<int>(pause.count())) < 0) {
      if (errno == EINTR) break;  // the caller wants to know
      throw std::system_error(errno, std::generic_category(), "cannot wait for a child process");
    }
    for (std::size_t i = handles.size(); i-- > 0;) {
      const std::string limit = handles[i].revents != 0 ? "" : exceeded_limit(*running_[i]);
      if (handles[i].revents == 0 && limit.empty()) continue;
      ended.push_back(end_of(*running_[i], limit));
      running_.erase(running_.begin() + static_cast<std::ptrdiff_t>(i));
    }
    if (Clock::now() >= end) break;
  }
  return ended;
}

// Which limit a point broke, or "".
std::string PointProcesses::exceeded_limit(const Running& running) const {
  if (Clock::now() - running.started > limits_.timeout)
    return "took longer than " + std::to_string(limits_.timeout.count()) + " s (--timeout)";
  if (limits_.memory.value == 0) return "";
  const std::int64_t resident = resident_bytes(running.child->pid());
  return resident <= limits_.memory.value ? ""
                                          : "took more memory than " + bytes_text(limits_.memory.value) + " (--memory)";
}

PointOutcome PointProcesses::end_of(Running& running, const std::string& limit) {
  PointOutcome outcome;
  outcome.point = running.point;
  outcome.outcome = "failed";
  outcome.error = limit;
  outcome.worker = worker_name();
  if (!limit.empty()) {
    outcome.peak_rss_bytes = resident_bytes(running.child->pid());
    running.child.reset();
  } else {
    try {
      const std::string text = running.child->wait();
      const auto report = nlohmann::json::parse(text, nullptr, false);
      if (report.is_object()) {
        outcome.outcome = report.at("outcome");
        outcome.error = report.at("detail");
        outcome.report = text;
      } else {
        outcome.error = text.starts_with('!') ? text.substr(1) : "the simulation handed over no result";
      }
    } catch (const std::runtime_error& error) {
      const std::string said = running.errors.text();
      outcome.error = error.what() + (said.empty() ? "" : ": " + said);
    }
    outcome.cpu_s = running.child->cpu_s();
    outcome.peak_rss_bytes = running.child->peak_rss_bytes();
  }
  outcome.wall_s = std::chrono::duration<double>(Clock::now() - running.started).count();
  return outcome;
}

}  // namespace uvmsim
