#include "engine/host_steps.h"

#include <algorithm>

#include "engine/clock.h"

namespace uvmsim {

void HostSteps::run(const op::HostStep& step) {
  const auto span = std::span(process_.program.operands).subspan(step.operands.first, step.operands.count);
  std::int64_t bytes = 0;
  for (const Operand& o : span) {
    if (o.managed()) fault(o);
    bytes += o.bytes * o.passes;
  }
  sleep_until(now() +
              std::max(step.duration, transfer_time(Bytes{bytes}, process_.services.machine.host.touch_bandwidth)));
}

// One fault at a time: the thread waits for its copy. Driver specification, section 2.8.
void HostSteps::fault(const Operand& operand) {
  if (operand.bytes <= 0) return;
  UvmDriver& driver = process_.services.driver;
  const AccessType access = operand.mode == trace::Mode::Read ? AccessType::Read : AccessType::Write;
  const auto [first, outer] = operand.pages();
  GpuDevice& gpu = *process_.services.gpus[process_.gpus.front()];
  for (PageNumber page = first; page != outer;) {
    page = driver.next_cpu_fault(process_.va_space, page, outer, access);
    if (page == outer) return;
    const FrameIndex frame = frame_of(page);
    Duration debt{0};
    if (gpu.wait_for_frame(process_.va_space, frame, debt)) continue;  // another thread may have faulted the page in
    const bool system = driver.is_system(process_.va_space, page);
    BlockWork work = system ? driver.cpu_first_touch(process_.va_space, page, outer, now())
                            : driver.cpu_fault(process_.va_space, page, access, now());
    debt = work.sleep;
    if (!system) ++gpu.counts().cpu_faults;
    process_.services.history.note(History::Event::CpuFault, gpu.index(), now(), page.value);
    chains_.reset(now());
    const bool moves = !work.throttled;  // while it naps, others may have the pages
    if (moves) gpu.in_flight().add(process_.va_space, frame);
    gpu.perform(work, debt, chains_);
    sleep_until(now() + debt);
    sleep_until(chains_.wait());
    if (moves) gpu.in_flight().remove(process_.va_space, frame);
  }
}

void HostWorker::Point::wait() const {
  while (worker != nullptr && worker->done_ < steps) worker->step_done_.wait();
}

HostWorker::HostWorker(ProcessContext& process, std::int32_t thread, const std::string& name)
    : process_(process),
      thread_(thread),
      steps_(process, name),
      work_("a step for " + name),
      step_done_("a step of " + name) {
  scheduler().spawn(name, [this] { run(); });
}

void HostWorker::hand(const op::HostStep& step, Time at, Point after) {
  queue_.push_back({&step, at, after});
  ++handed_;
  work_.notify_all();
}

void HostWorker::close() {
  closed_ = true;
  work_.notify_all();
}

void HostWorker::run() {
  for (;;) {
    while (queue_.empty() && !closed_) work_.wait();
    if (queue_.empty()) return;
    const Entry entry = queue_.front();
    queue_.pop_front();
    sleep_until(entry.at);
    entry.after.wait();
    const Time begin = now();
    steps_.run(*entry.step);
    ++done_;
    step_done_.notify_all();
    if (Observer* observer = process_.services.observer; observer != nullptr && now() > begin)
      observer->host_call(
          {.process = process_.va_space, .begin = begin, .end = now(), .name = "host step", .thread = thread_});
  }
}

}  // namespace uvmsim
