#include "study/child_process.h"

#include <array>
#include <cerrno>
#include <csignal>
#include <cstdio>
#include <cstring>
#include <exception>
#include <fcntl.h>
#include <stdexcept>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <system_error>
#include <thread>
#include <unistd.h>

#include "engine/network.h"

namespace uvmsim {
namespace {

constexpr int kFailed = 5;

static_assert(std::atomic<double>::is_always_lock_free);

// In a child: where its parent looks. NOLINTNEXTLINE(cppcoreguidelines-avoid-non-const-global-variables)
std::atomic<double>* own_share = nullptr;

void write_all(int file, const std::string& text) {
  for (std::size_t done = 0; done < text.size();) {
    const ssize_t written = write(file, text.data() + done, text.size() - done);
    if (written < 0 && errno == EINTR) continue;
    if (written <= 0) throw std::runtime_error("cannot hand over the result");
    done += static_cast<std::size_t>(written);
  }
}

std::string read_all(int file) {
  std::string text;
  std::array<char, 65536> buffer{};
  for (;;) {
    const ssize_t count = read(file, buffer.data(), buffer.size());
    if (count < 0 && errno == EINTR) continue;
    if (count <= 0) return text;
    text.append(buffer.data(), static_cast<std::size_t>(count));
  }
}

// In the child; `parent` is the process that forked it.
[[noreturn]] void run_child(const std::function<std::string()>& work, int file, pid_t parent) {
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  std::signal(SIGINT, SIG_IGN);             // a terminal interrupts all of its processes: the parent answers
  if (getppid() != parent) _exit(kFailed);  // it was gone before the line above
  // A thread of its own allocates from an arena of its own. In the parent's, each hole that it fills is a page to copy:
  // that was a third of what a fit to short cases took.
  std::thread([&] {
    try {
      write_all(file, work());
    } catch (const std::exception& error) {
      std::fprintf(stderr, "uvmsim: in a child process: %s\n", error.what());
      _exit(kFailed);
    }
  }).join();
  _exit(0);  // no destructors and no flushing: the buffers are copies of the parent's
}

std::int64_t bytes_of(const rusage& usage) { return static_cast<std::int64_t>(usage.ru_maxrss) * 1024; }

double seconds_of(const timeval& time) {
  return static_cast<double>(time.tv_sec) + 1e-6 * static_cast<double>(time.tv_usec);
}

}  // namespace

ChildProcess::ChildProcess(const std::function<std::string()>& work) {
  open_network_library();  // here once, not in each child that simulates
  std::array<int, 2> ends{};
  if (pipe2(ends.data(), O_CLOEXEC) != 0)
    throw std::system_error(errno, std::generic_category(), "cannot start a child process");
  const pid_t parent = getpid();
  pid_ = fork();
  if (pid_ == 0) {
    close(ends[0]);
    own_share = &*share_;
    run_child(work, ends[1], parent);
  }
  const int error = errno;
  close(ends[1]);
  pipe_ = ends[0];
  if (pid_ < 0) {
    close(pipe_);
    throw std::system_error(error, std::generic_category(), "cannot start a child process");
  }
}

ChildProcess::~ChildProcess() {
  if (pid_ > 0) {
    kill(pid_, SIGKILL);
    while (waitpid(pid_, nullptr, 0) < 0 && errno == EINTR) {
    }
  }
  if (pipe_ >= 0) close(pipe_);
}

std::string ChildProcess::wait() {
  std::string text = read_all(pipe_);
  int status = 0;
  rusage usage{};
  while (wait4(pid_, &status, 0, &usage) < 0)
    if (errno != EINTR) throw std::system_error(errno, std::generic_category(), "cannot wait for a child process");
  pid_ = 0;
  peak_rss_bytes_ = bytes_of(usage);
  cpu_s_ = seconds_of(usage.ru_utime) + seconds_of(usage.ru_stime);
  if (WIFSIGNALED(status))
    throw std::runtime_error("a child process was ended by signal " + std::to_string(WTERMSIG(status)) + " (" +
                             strsignal(WTERMSIG(status)) + ")");
  if (WEXITSTATUS(status) != 0)
    throw std::runtime_error("a child process ended with exit status " + std::to_string(WEXITSTATUS(status)));
  return text;
}

void tell_share(double share) {
  if (own_share != nullptr && share > *own_share) *own_share = share;
}

std::function<void(double, Time)> told_share() {
  return [](double share, Time) { tell_share(share); };
}

std::int64_t peak_rss_bytes() {
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  return bytes_of(usage);
}

}  // namespace uvmsim
