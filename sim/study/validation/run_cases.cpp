#include "study/validation/run_cases.h"

#include <algorithm>
#include <cerrno>
#include <filesystem>
#include <fstream>
#include <memory>
#include <optional>
#include <poll.h>
#include <set>
#include <unistd.h>

#include "report/json.h"
#include "study/child_process.h"
#include "study/data_stalls.h"
#include "study/plan_need.h"
#include "study/simulate.h"
#include "trace/digest.h"

namespace uvmsim {
namespace {

namespace fs = std::filesystem;
using Clock = std::chrono::steady_clock;

struct Job {
  const CaseRun* run;
  std::string name;  // "family/case/run"
  bool slow;
};

std::vector<Job> jobs_of(const std::vector<CaseFamily>& families) {
  std::vector<Job> jobs;
  std::set<std::string> seen;
  for (const CaseFamily& family : families)
    for (const ValidationCase& one : family.cases)
      for (const CaseRun& run : one.runs)
        if (seen.insert(run.identity).second)
          jobs.push_back({&run, family.name + "/" + one.name + (run.name.empty() ? "" : "/" + run.name), one.slow});
  // The long ones first, so that none of them is left alone at the end.
  std::stable_partition(jobs.begin(), jobs.end(), [](const Job& job) { return job.slow; });
  return jobs;
}

// What is asked of the run, in one process.
Result result_of_run(const CaseRun& run) {
  PlanNeed need;
  if (run.need) need = plan_need(run.experiment, make_trace(run.experiment));
  for (const std::string& parameter : run.largest) need.largest.push_back(largest_that_fits(run.experiment, parameter));
  Result result = run.simulated ? run_experiment(run.experiment) : Result{};
  result.plan.need = std::move(need);
  if (run.loading && result.outcome == Outcome::Completed)
    result.loading = loading_rates(run.experiment.data, training_job(run.experiment, result));
  return result;
}

// What the child hands over: the result, or '!' and why there is none.
std::string simulate_job(const Job& job) {
  try {
    return to_json(result_of_run(*job.run));
  } catch (const std::exception& error) {
    return std::string("!") + error.what();
  }
}

RunResult result_of(const std::string& text) {
  if (text.starts_with('!')) return text.substr(1);
  const std::optional<Result> result = result_from_json(text);
  return result ? RunResult(*result) : RunResult("the simulation handed over no result");
}

// Results by what was simulated and by which program: another build of it starts anew.
class Cache {
 public:
  explicit Cache(const std::string& folder) : folder_(folder) {
    if (folder_.empty()) return;
    fs::create_directories(folder_);
    std::ifstream program("/proc/self/exe", std::ios::binary);
    program_ = trace::digest_of(program).hex();
  }
  std::optional<Result> find(const CaseRun& run) const {
    if (folder_.empty()) return std::nullopt;
    const std::optional<std::string> text = read_text_file(path(run));
    return text ? result_from_json(*text) : std::nullopt;
  }
  void keep(const CaseRun& run, const std::string& text) const {
    if (folder_.empty()) return;
    const std::string unfinished = path(run) + "." + std::to_string(getpid());
    std::ofstream(unfinished, std::ios::binary) << text;
    fs::rename(unfinished, path(run));
  }

 private:
  std::string path(const CaseRun& run) const { return folder_ + "/" + run.identity + "-" + program_ + ".json"; }

  std::string folder_, program_;
};

struct Running {
  const Job* job;
  std::unique_ptr<ChildProcess> child;
  Clock::time_point end;
};

class Runner {
 public:
  explicit Runner(const RunCasesOptions& options) : options_(options), cache_(options.cache) {}

  RunResults run(const std::vector<Job>& jobs) {
    all_ = jobs.size();
    for (const Job& job : jobs) {
      if (std::optional<Result> known = cache_.find(*job.run)) {
        results_.emplace(job.run->identity, std::move(*known));
        continue;
      }
      while (running_.size() >= static_cast<std::size_t>(std::max(options_.processes, 1))) wait_a_while();
      if (stopped()) break;
      running_.push_back({&job, std::make_unique<ChildProcess>([&job] { return simulate_job(job); }),
                          Clock::now() + options_.timeout});
      show_progress();
    }
    while (!running_.empty()) wait_a_while();
    for (const Job& job : jobs) results_.try_emplace(job.run->identity, "interrupted");
    return std::move(results_);
  }

 private:
  bool stopped() const { return options_.stopped && options_.stopped(); }

  // Until a run ends, for a fifth of a second at most.
  void wait_a_while() {
    constexpr int kMilliseconds = 200;
    if (stopped()) return running_.clear();
    std::vector<pollfd> handles;
    for (const Running& each : running_) handles.push_back({each.child->handle(), POLLIN, 0});
    const int ready = poll(handles.data(), handles.size(), kMilliseconds);
    if (ready < 0 && errno == EINTR) return;
    if (ready < 0) throw std::system_error(errno, std::generic_category(), "cannot wait for a child process");
    const Clock::time_point now = Clock::now();
    for (std::size_t i = handles.size(); i-- > 0;) {
      if (handles[i].revents == 0 && now < running_[i].end) continue;
      finish(running_[i], handles[i].revents != 0);
      running_.erase(running_.begin() + static_cast<std::ptrdiff_t>(i));
    }
    show_progress();
  }

  void finish(Running& ended, bool in_time) {
    const CaseRun& run = *ended.job->run;
    if (!in_time) {
      results_.emplace(run.identity, "took longer than " + std::to_string(options_.timeout.count()) + " s (--timeout)");
      return;
    }
    try {
      const std::string text = ended.child->wait();
      const auto& [at, inserted] = results_.emplace(run.identity, result_of(text));
      if (std::holds_alternative<Result>(at->second)) cache_.keep(run, text);
    } catch (const std::runtime_error& error) {
      results_.emplace(run.identity, error.what());
    }
  }

  void show_progress() {
    if (!options_.progress) return;
    auto work = static_cast<double>(results_.size());
    for (const Running& each : running_) work += each.child->share();
    options_.progress(work, results_.size(), all_, running_.empty() ? "" : running_.front().job->name);
  }

  const RunCasesOptions& options_;
  Cache cache_;
  std::size_t all_ = 0;
  std::vector<Running> running_;
  RunResults results_;
};

}  // namespace

RunResults run_cases(const std::vector<CaseFamily>& families, const RunCasesOptions& options) {
  return Runner(options).run(jobs_of(families));
}

}  // namespace uvmsim
