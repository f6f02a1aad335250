#include "study/sweep/run_sweep.h"

#include <charconv>
#include <chrono>
#include <deque>
#include <set>

#include "base/user_error.h"

namespace uvmsim {
namespace {

using Clock = std::chrono::steady_clock;

constexpr std::chrono::milliseconds kWait{200};
constexpr std::chrono::milliseconds kAskOthers{500};  // between two looks at points of other sweeps

std::optional<int> parse_int(std::string_view text) {
  int value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  return error == std::errc() && end == text.data() + text.size() ? std::optional(value) : std::nullopt;
}

class SweepRun {
 public:
  SweepRun(const SweepPlan& plan, SweepStore& store, PointWorkers& workers, const SweepRunOptions& options)
      : plan_(plan), store_(store), workers_(workers), options_(options) {}

  SweepProgress run(const std::vector<std::size_t>& points) {
    std::set<std::string> seen;
    for (const std::size_t point : points)
      if (seen.insert(hash(point)).second) pending_.push_back(point);
    progress_.all = pending_.size();
    while (progress_.done < progress_.all && !options_.stopped()) {
      start_points();
      for (const PointOutcome& outcome : workers_.wait(kWait)) keep(outcome);
      ask_others();
      show_progress();
    }
    progress_.interrupted = progress_.done < progress_.all;
    for (const std::size_t point : mine_) store_.release(hash(point));
    return progress_;
  }

 private:
  const std::string& hash(std::size_t point) const { return plan_.points()[point].hash; }

  void start_points() {
    while (workers_.free() > 0 && !pending_.empty() && !options_.stopped()) {
      const std::size_t point = pending_.front();
      pending_.pop_front();
      claim(point);
    }
  }

  void claim(std::size_t point) {
    switch (store_.claim(hash(point))) {
      case SweepStore::Claim::Mine:
        mine_.insert(point);
        workers_.start(point);
        break;
      case SweepStore::Claim::Done:
        ++progress_.done;
        ++progress_.skipped;
        break;
      case SweepStore::Claim::Others:
        others_.push_back(point);
    }
  }

  void keep(const PointOutcome& outcome) {
    mine_.erase(outcome.point);
    if (outcome.outcome.empty()) {
      store_.release(hash(outcome.point));
      pending_.push_back(outcome.point);
      return;
    }
    store_.keep(hash(outcome.point), outcome);
    ++progress_.done;
    if (outcome.outcome == "failed") ++progress_.failed;
  }

  // Points of other sweeps: they are done by now, or still in flight, or left behind by one that was killed.
  void ask_others() {
    if (others_.empty() || workers_.free() == 0 || Clock::now() < next_question_) return;
    next_question_ = Clock::now() + kAskOthers;
    std::deque<std::size_t> asked;
    asked.swap(others_);
    for (const std::size_t point : asked) {
      if (workers_.free() > 0)
        claim(point);
      else
        others_.push_back(point);
    }
  }

  void show_progress() {
    progress_.running = workers_.running();
    if (options_.progress) options_.progress(progress_);
  }

  const SweepPlan& plan_;
  SweepStore& store_;
  PointWorkers& workers_;
  const SweepRunOptions& options_;
  SweepProgress progress_;
  std::deque<std::size_t> pending_, others_;
  std::set<std::size_t> mine_;
  Clock::time_point next_question_{};
};

}  // namespace

std::optional<Shard> parse_shard(std::string_view text) {
  const std::size_t slash = text.find('/');
  if (slash == std::string_view::npos) return std::nullopt;
  const std::optional<int> number = parse_int(text.substr(0, slash)), count = parse_int(text.substr(slash + 1));
  if (!number || !count || *number < 1 || *number > *count) return std::nullopt;
  return Shard{*number - 1, *count};
}

std::optional<Shard> slurm_shard(const std::function<const char*(const char*)>& environment) {
  const auto number = [&](const char* name, std::optional<int> otherwise) {
    const char* text = environment(name);
    const std::optional<int> given = text == nullptr ? otherwise : parse_int(text);
    if (!given)
      throw UserError(name, text == nullptr ? "is not set, and SLURM_ARRAY_TASK_ID is"
                                            : "expected a whole number, found \"" + std::string(text) + "\"");
    return *given;
  };
  if (environment("SLURM_ARRAY_TASK_ID") == nullptr) return std::nullopt;
  const int task = number("SLURM_ARRAY_TASK_ID", {}), count = number("SLURM_ARRAY_TASK_COUNT", {});
  const int step = number("SLURM_ARRAY_TASK_STEP", 1);
  const int index = step < 1 ? -1 : (task - number("SLURM_ARRAY_TASK_MIN", 0)) / step;
  if (index < 0 || index >= count)
    throw UserError("SLURM_ARRAY_TASK_ID",
                    std::to_string(task) + " is not among the array's " + std::to_string(count) + " tasks");
  return Shard{index, count};
}

std::vector<std::size_t> points_of(const SweepPlan& plan, Shard shard) {
  std::vector<std::size_t> points;
  for (std::size_t i = static_cast<std::size_t>(shard.index); i < plan.points().size();
       i += static_cast<std::size_t>(shard.count))
    points.push_back(i);
  return points;
}

SweepProgress run_sweep(const SweepPlan& plan, const std::vector<std::size_t>& points, SweepStore& store,
                        PointWorkers& workers, const SweepRunOptions& options) {
  return SweepRun(plan, store, workers, options).run(points);
}

}  // namespace uvmsim
