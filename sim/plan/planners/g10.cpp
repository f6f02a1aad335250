#include <algorithm>
#include <cmath>
#include <limits>
#include <queue>

#include "base/number_text.h"
#include "plan/feature_maps.h"

namespace uvmsim {
namespace {

struct G10Options {
  std::string tiers = "both";
  double target = 0.99;
  double margin = 0.5;
  bool eager = true;
  Bytes min_bytes{1 << 20};

  static const Description& description() {
    using O = G10Options;
    static const Description d =
        Describe<O>("smart tensor migration among GPU, host and SSD")
            .text("tiers", &O::tiers, "where tensors go: both as G10 and G10-Host of the paper, ssd as its G10-GDS",
                  {"both", "ssd", "host"})
            .number("target", &O::target, "share of device memory below which to bring the pressure", {0, 1})
            .number(
                "margin", &O::margin,
                "an SSD takes a tensor whose inactive period is longer than a write, a read and this share of the read",
                {0, {}})
            .flag("eager", &O::eager, "prefetch as early as memory permits, not as late as bandwidth does")
            .bytes("min_bytes", &O::min_bytes, "smaller tensors stay (assumed)")
            .build();
    return d;
  }
};

// Bytes that can still move over one link in one direction while each kernel runs.
std::vector<std::int64_t> channel(const Profile& profile, BytesPerSecond rate) {
  std::vector<std::int64_t> free(profile.starts.size(), std::numeric_limits<std::int64_t>::max());
  if (rate.value == 0) return free;
  for (std::int32_t k = 0; k < profile.shape().kernels; ++k) {
    const Duration time = profile.next_start(k) - profile.start(k);
    free[static_cast<std::size_t>(k)] = std::llround(seconds(time) * static_cast<double>(rate.value));
  }
  return free;
}

// One transfer in what its channels have left. Positions count kernels from the interval's begin.
struct Passage {
  std::vector<std::pair<std::size_t, std::int64_t>> takes{};  // kernel, bytes
  std::int32_t half = 0, end = 0;                             // positions by which half and all of it has moved
};

// Where an interval's tensor would go and what that would save.
struct Choice {
  std::size_t interval = 0;
  bool ssd = false;
  double area = 0;  // bytes times seconds of kernels above the target
  Passage out{}, in{};
};

// Greedy: of all inactive periods, also those that reach into the next iteration, the one with the largest reducible
// area is taken, until no kernel is above the target: bytes times the time of the kernels above the target between the
// moments at which half of the tensor is gone and half is back, both in the bandwidth that earlier choices have left.
// Its bytes are away while neither copy moves them. It goes to the SSD where its period is long enough for that and
// earlier choices do not delay the copy out, else to the host.
// Prefetches start as early as memory permits (`eager`). A tensor that the bandwidth left cannot move in its period is
// no candidate; what is still above the target then is left to reclaim on demand.
//
// On hardware: the paper's extension of UVM by SSDs and its compiler; without it, GPUDirect Storage and explicit
// copies.
class G10 final : public With<Planner, G10Options> {
 public:
  std::vector<Plan> plan(std::span<const Profile> gpus, PlanServices&) const override {
    return plan_each(gpus, [&](const Profile& profile) { return plan_of(profile); });
  }

 private:
  Plan plan_of(const Profile& profile) const;
};

const bool kRegistered = add_plug_in<Planner, G10>(
    {.name = "g10",
     .summary = "migrate tensors to host and SSD by the memory pressure that this relieves",
     .source = "Zhang et al., MICRO 2023: G10; platformxlab/G10",
     .on_hardware = "the paper's UVM with SSDs; nearest without: GPUDirect Storage and explicit copies"});

// The plan of one GPU as it is made.
class Migration {
 public:
  Migration(const Profile& profile, const G10Options& options)
      : profile_(profile),
        options_(options),
        kernels_(profile.shape().kernels),
        target_(static_cast<std::int64_t>(options.target * static_cast<double>(profile.budget.value))),
        load_(profile.graph->load) {
    for (const NodeLink& node : profile.nodes) {
      if (node.kind == "ssd" && ssd_ == nullptr) ssd_ = &node;
      if (node.nearest) host_ = &node;
    }
    if (options.tiers == "host") ssd_ = nullptr;
    channels_ = {channel(profile, profile.links.out), channel(profile, profile.links.in)};
    if (ssd_ != nullptr) {
      channels_.push_back(channel(profile, ssd_->links.out));
      channels_.push_back(channel(profile, ssd_->links.in));
    }
    held_.assign(2, std::vector<std::int64_t>(profile.graph->load.size()));
  }

  bool has_tier() const { return options_.tiers != "ssd" || ssd_ != nullptr; }

  void choose() {
    std::priority_queue<std::pair<double, std::size_t>> queue;  // by area; the index of the interval from the end
    const auto push = [&](const Choice& c) {
      if (c.area > 0) queue.emplace(c.area, profile_.intervals.size() - c.interval);
    };
    note_pressure();
    for (std::size_t n = 0; n < profile_.intervals.size(); ++n)
      if (profile_.intervals[n].bytes >= options_.min_bytes.value) push(evaluated(n));
    while (!queue.empty() && std::ranges::max(load_) > target_) {
      const Choice now = evaluated(profile_.intervals.size() - queue.top().second);  // areas shrink as others are taken
      queue.pop();
      if (now.area > 0 && (queue.empty() || now.area >= queue.top().first))
        take(now);
      else
        push(now);
    }
  }

  void write(Plan& plan) {
    if (options_.eager) std::ranges::stable_sort(chosen_, {}, [&](const Choice& c) { return interval(c).next_use; });
    for (const Choice& c : chosen_)  // until each is brought back
      for (std::int32_t p = c.in.end; p > 0 && p < length(interval(c)); ++p)
        load_[kernel_at(interval(c), p)] -= interval(c).bytes;
    LoadCurve load(load_);
    for (const Choice& c : chosen_) {
      const Interval& i = interval(c);
      const TensorInterval of = of_interval(i);
      const Trigger out{Trigger::On::AfterKernel, i.last_use};
      if (i.dead) {
        plan.actions.push_back(Drop{of, out});
        continue;
      }
      // The bandwidth's latest start; memory may permit an earlier one after the copy out, or only a later one.
      std::int32_t earliest = options_.eager ? c.out.end + 1 : c.in.end;
      earliest += i.last_use;
      if (i.wraps) earliest = std::max(0, earliest - kernels_);
      const std::int32_t back = bring_back(i, earliest, profile_.budget.value, load);
      plan.actions.push_back(
          Move{.of = of, .to = c.ssd ? ssd_->name : "", .out = {out}, .in = {{Trigger::On::BeforeKernel, back}}});
      (c.ssd ? to_ssd_ : to_host_) += i.bytes;
    }
    plan.why =
        moved_text(plan) + ", " + bytes_text(to_ssd_) + " to the SSD and " + bytes_text(to_host_) + " to the host";
    if (ssd_ == nullptr && options_.tiers == "both") plan.why += ", for the machine has no SSD";
  }

 private:
  const Interval& interval(const Choice& c) const { return profile_.intervals[c.interval]; }
  std::size_t kernel_at(const Interval& i, std::int32_t position) const {
    return static_cast<std::size_t>((i.last_use + position) % kernels_);
  }
  std::int32_t length(const Interval& i) const { return i.next_use - i.last_use + (i.wraps ? kernels_ : 0); }

  // Seconds of the kernels above the target before each kernel.
  void note_pressure() {
    above_.assign(load_.size() + 1, 0);
    for (std::size_t k = 0; k < load_.size(); ++k)
      above_[k + 1] = above_[k] + (load_[k] > target_ ? seconds(profile_.graph->kernels[k].duration) : 0);
  }
  double above(const Interval& i, std::int32_t from, std::int32_t outer) const {  // positions
    const auto sum = [&](std::int32_t position) {
      const std::int32_t k = i.last_use + position;
      return k <= kernels_ ? above_[static_cast<std::size_t>(k)]
                           : above_.back() + above_[static_cast<std::size_t>(k - kernels_)];
    };
    return from < outer ? sum(outer) - sum(from) : 0;
  }

  Choice evaluated(std::size_t n) {
    const Interval& i = profile_.intervals[n];
    Choice choice{.interval = n};
    const auto bytes = static_cast<double>(i.bytes);
    const double most = bytes * above(i, 1, length(i));
    if (i.dead || most <= 0) {
      choice.area = most;
      return choice;
    }
    const bool host = options_.tiers != "ssd" && has_room(i, false);
    choice.ssd = ssd_ != nullptr && has_room(i, true) && long_enough(i) && passes(i, true, choice) &&
                 (!host || undelayed(i, choice.out));
    if (!choice.ssd && !(host && passes(i, false, choice))) return choice;
    choice.area = bytes * above(i, choice.out.half + 1, choice.in.half);
    return choice;
  }

  bool long_enough(const Interval& i) const {
    const LinkModel& link = ssd_->links;
    const double in = seconds(link.in_time(i.bytes));
    return seconds(i.gap) > seconds(link.out_time(i.bytes)) + in + options_.margin * in;  // analysis.cc: ssd_safe_time
  }
  // Whether earlier choices leave the SSD's bandwidth to the copy out.
  bool undelayed(const Interval& i, const Passage& out) const {
    const std::size_t last = kernel_at(i, out.end);
    const bool next_iteration = last <= static_cast<std::size_t>(i.last_use);
    return profile_.start(static_cast<std::int32_t>(last)) + (next_iteration ? profile_.length : Duration{}) <=
           i.over + ssd_->links.out_time(i.bytes);
  }
  // In the node's memory, from the begin of the copy out to the end of the copy in.
  bool has_room(const Interval& i, bool ssd) const {
    const NodeLink* node = ssd ? ssd_ : host_;
    if (node == nullptr || node->capacity.value == 0) return true;
    const std::int64_t room = node->capacity.value - i.bytes;
    for (std::int32_t p = 0; p <= length(i); ++p)
      if (held_[ssd][kernel_at(i, p)] > room) return false;
    return true;
  }

  // Whether the copy out, from the interval's begin on, and the copy in, before its end, find bandwidth; fills both.
  bool passes(const Interval& i, bool ssd, Choice& choice) const {
    choice.out = {};
    choice.in = {};
    return forward(i, ssd, choice.out) && backward(i, ssd, choice.in) && choice.out.end < choice.in.end;
  }
  bool forward(const Interval& i, bool ssd, Passage& out) const {
    std::int64_t left = i.bytes;
    for (std::int32_t p = 1; p < length(i) && left > 0; ++p)
      if (move(i, p, channels_[0], ssd ? &channels_[2] : nullptr, left, out)) out.end = p;
    return left <= 0;
  }
  bool backward(const Interval& i, bool ssd, Passage& in) const {
    std::int64_t left = i.bytes;
    for (std::int32_t p = length(i) - 1; p > 0 && left > 0; --p)
      if (move(i, p, channels_[1], ssd ? &channels_[3] : nullptr, left, in)) in.end = p;
    return left <= 0;
  }
  // Whether kernel k runs in the interval: on several streams not all do that are issued in it.
  bool runs_in(const Interval& i, std::int32_t k) const {
    const bool after = profile_.start(k) >= i.over, before = profile_.start(k) < i.needed;
    return i.wraps ? after || before : after && before;
  }
  // What the channels let pass of the `left` bytes at position p; whether that is anything.
  bool move(const Interval& i, std::int32_t p, const std::vector<std::int64_t>& link,
            const std::vector<std::int64_t>* ssd, std::int64_t& left, Passage& passage) const {
    const std::size_t k = kernel_at(i, p);
    const std::int64_t here = std::min({left, link[k], ssd == nullptr ? left : (*ssd)[k]});
    if (here <= 0 || !runs_in(i, static_cast<std::int32_t>(k))) return false;
    passage.takes.emplace_back(k, here);
    left -= here;
    if (passage.half == 0 && left * 2 <= i.bytes) passage.half = p;
    return true;
  }

  void take(const Choice& choice) {
    const Interval& i = interval(choice);
    for (const auto& [k, bytes] : choice.out.takes) {
      channels_[0][k] -= bytes;
      if (choice.ssd) channels_[2][k] -= bytes;
    }
    for (const auto& [k, bytes] : choice.in.takes) {
      channels_[1][k] -= bytes;
      if (choice.ssd) channels_[3][k] -= bytes;
    }
    for (std::int32_t p = 1; p < length(i); ++p)
      if (i.dead || (p > choice.out.end && p < choice.in.end)) load_[kernel_at(i, p)] -= i.bytes;
    if (!i.dead)
      for (std::int32_t p = 0; p <= length(i); ++p) held_[choice.ssd][kernel_at(i, p)] += i.bytes;
    note_pressure();
    chosen_.push_back(choice);
  }

  const Profile& profile_;
  const G10Options& options_;
  const std::int32_t kernels_;
  const std::int64_t target_;
  std::vector<std::int64_t> load_;               // by kernel: bytes of the GPU
  std::vector<std::vector<std::int64_t>> held_;  // bytes of the host, of the SSD, likewise
  std::vector<double> above_;
  std::vector<std::vector<std::int64_t>> channels_;  // from the GPU, to it; to the SSD, from it
  const NodeLink *ssd_ = nullptr, *host_ = nullptr;
  std::vector<Choice> chosen_;
  std::int64_t to_ssd_ = 0, to_host_ = 0;
};

Plan G10::plan_of(const Profile& profile) const {
  Plan plan = empty_plan(profile, "g10");
  Migration migration(profile, options_);
  if (migration.has_tier()) {
    migration.choose();
    migration.write(plan);
  } else {
    plan.why = "tiers \"ssd\", and the machine has no memory node of kind ssd: nothing is moved";
  }
  prove(profile, plan);
  return plan;
}

}  // namespace
}  // namespace uvmsim
