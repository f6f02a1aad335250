#include "recorder.h"

#include <cerrno>
#include <cstring>
#include <fcntl.h>
#include <unistd.h>

namespace uvmcap {

namespace {

constexpr std::size_t kGather = std::size_t{64} << 10;

thread_local std::vector<std::uint64_t> external_ids;

}  // namespace

void push_external(std::uint64_t id) { external_ids.push_back(id); }

void pop_external() {
  if (!external_ids.empty()) external_ids.pop_back();
}

std::uint64_t top_external() { return external_ids.empty() ? 0 : external_ids.back(); }

std::uint32_t thread_number() {
  static std::atomic<std::uint32_t> threads{0};
  thread_local const std::uint32_t number = threads++;
  return number;
}

Recorder::Recorder(const std::string& path, std::uint64_t max_bytes, std::uint64_t flush_ns, Clock clock)
    : path_(path), max_bytes_(max_bytes), flush_ns_(flush_ns), clock_(clock) {
  for (int attempt = 2;; ++attempt) {
    file_ = ::open(path_.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0644);
    if (file_ >= 0 || errno != EEXIST) break;
    path_ = path + "." + std::to_string(attempt);
  }
  if (file_ < 0) error_ = "cannot write " + path_ + ": " + std::strerror(errno);
  active_ = file_ >= 0;
  sent_at_ = clock_();
}

Recorder::~Recorder() { end(); }

void Recorder::send() {
  std::size_t done = 0;
  while (done < pending_.size()) {
    const ssize_t wrote = ::write(file_, pending_.data() + done, pending_.size() - done);
    if (wrote < 0 && errno == EINTR) continue;
    if (wrote <= 0) {
      error_ = "cannot write " + path_ + ": " + std::strerror(errno);
      active_ = false;
      break;
    }
    done += static_cast<std::size_t>(wrote);
  }
  sent_bytes_ += done;
  pending_.clear();
  sent_at_ = clock_();
}

void Recorder::write_end() {
  encoder_.encode(End{clock_(), host_, gpu_, dropped_}, pending_);
  send();
  active_ = false;
}

void Recorder::after_line() {
  if (max_bytes_ != 0 && sent_bytes_ + pending_.size() > max_bytes_) {
    encoder_.encode(Limit{}, pending_);
    write_end();
  } else if (pending_.size() >= kGather || clock_() - sent_at_ >= flush_ns_) {
    send();
  }
}

void Recorder::flush() {
  const std::lock_guard lock(mutex_);
  if (active_ && !pending_.empty()) send();
}

void Recorder::end() {
  const std::lock_guard lock(mutex_);
  if (active_) write_end();
  if (file_ >= 0) ::close(file_);
  file_ = -1;
}

}  // namespace uvmcap
