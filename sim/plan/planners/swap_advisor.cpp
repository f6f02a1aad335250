#include <algorithm>
#include <cmath>
#include <map>
#include <numeric>
#include <optional>
#include <utility>

#include "base/number_text.h"
#include "base/scramble.h"
#include "base/seed.h"
#include "plan/kernel_order.h"
#include "plan/planner.h"
#include "plan/planners/belady_swaps.h"
#include "plan/swap_schedule.h"

namespace uvmsim {
namespace {

struct SwapAdvisorOptions {
  std::string pools = "classes";
  bool order = true;
  int moves = 8;
  int population = 12;
  int generations = 6;
  double temperature = 0.05;
  double mutation = 0.1;
  std::int64_t seed = kSeed;
  int verify = 0;
  double budget = 1;
  Bytes min_bytes{1 << 20};

  static const Description& description() {
    using O = SwapAdvisorOptions;
    static const Description d =
        Describe<O>("a genetic search over memory pools, with an optimal choice of victims")
            .text(
                "pools", &O::pools,
                "classes: one pool of equal objects for each size class, which the search chooses; bytes: one pool in "
                "which any free bytes will do",
                {"classes", "bytes"})
            .flag("order", &O::order,
                  "whether the order of the kernels is searched, too, in as many generations again, starting from the "
                  "best pools")
            .integer("moves", &O::moves, "kernels that a child moves elsewhere (assumed)", {1, 1'000'000}, "kernels")
            .integer("population", &O::population, "individuals in a generation (the paper: about 100)", {2, 1000})
            .integer("generations", &O::generations, "generations after the first (the paper: for minutes)",
                     {0, 100'000})
            .number("temperature", &O::temperature, "parents are drawn by exp(-(t / best - 1) / temperature) (assumed)",
                    {1e-6, {}})
            .number("mutation", &O::mutation, "chance of each gene to change (assumed)", {0, 1})
            .integer("seed", &O::seed, "where the stream of random numbers starts", {0, {}})
            .integer("verify", &O::verify, "how many of the best individuals are simulated; 0: none", {0, 100})
            .number("budget", &O::budget, "share of device memory to fit into", {0, 1})
            .bytes("min_bytes", &O::min_bytes, "smaller tensors stay (assumed)")
            .build();
    return d;
  }
};

class Draw : public RandomNumbers {
 public:
  explicit Draw(std::int64_t seed) : RandomNumbers(static_cast<std::uint64_t>(seed)) {}
  double share() { return static_cast<double>(next() >> 11) * 0x1.0p-53; }  // 0 .. 1
  bool chance(double p) { return share() < p; }
};

// By distinct size, ascending: whether it is that of a class, and how many objects more than in proportion the class
// has. By kernel: when its turn is, of those that may run.
struct Individual {
  std::vector<char> is_class{};
  std::vector<double> weight{};
  std::vector<double> turn{};
  Duration time = kNever;  // kNever: it fits nothing
  Plan plan{};
};

// Divides memory by individuals, and tells what comes of each.
class Breeder {
 public:
  Breeder(const Profile& profile, std::int64_t limit, std::int64_t min_bytes)
      : profile_(profile), graph_(*profile.graph), rank_(graph_.tensors.size(), -1) {
    std::map<std::int64_t, std::int32_t> ranks;
    for (const GraphTensor& t : graph_.tensors)
      if (t.bytes >= min_bytes) ranks[t.bytes] = 0;
    for (auto& [bytes, rank] : ranks) {
      rank = static_cast<std::int32_t>(sizes_.size());
      sizes_.push_back(bytes);
    }
    LoadCurve small(graph_.load);  // what is in no pool
    for (std::size_t t = 0; t < graph_.tensors.size(); ++t) {
      const GraphTensor& tensor = graph_.tensors[t];
      if (tensor.bytes < min_bytes) continue;
      rank_[t] = ranks.at(tensor.bytes);
      small.add(tensor.first, std::min(tensor.outer + 1, graph_.shape.kernels), -tensor.bytes);
    }
    room_ = limit - std::max<std::int64_t>(small.most(), 0);
  }

  std::size_t genes() const { return sizes_.size(); }
  std::int64_t size(std::size_t gene) const { return sizes_[gene]; }

  MemoryDivision one_pool() const {
    MemoryDivision d{.pools = {{room_, true}}, .pool_of = rank_};
    for (std::int32_t& pool : d.pool_of) pool = std::min(pool, 0);
    return d;
  }

  // Objects of the classes in proportion to the most tensors that live at once, by weight, but enough for each kernel.
  std::optional<MemoryDivision> classes(const Individual& of) const {
    std::vector<std::size_t> sizes;  // of the classes, into sizes_
    std::vector<std::int32_t> class_of(genes());
    for (std::size_t s = 0; s < genes(); ++s) {
      class_of[s] = static_cast<std::int32_t>(sizes.size());
      if (of.is_class[s] != 0 || s + 1 == genes()) sizes.push_back(s);
    }
    MemoryDivision d{.pools = std::vector<MemoryPool>(sizes.size()), .pool_of = rank_};
    for (std::int32_t& pool : d.pool_of)
      if (pool >= 0) pool = class_of[static_cast<std::size_t>(pool)];
    const auto [least, most] = demands(d);
    const auto objects = [&, &least = least, &most = most](std::size_t c, double scale) {
      const auto some = static_cast<std::int64_t>(static_cast<double>(most[c]) * scale * of.weight[sizes[c]]);
      return std::clamp(some, least[c], std::max(least[c], most[c]));
    };
    const auto bytes = [&](double scale) {
      std::int64_t sum = 0;
      for (std::size_t c = 0; c < sizes.size(); ++c) sum += objects(c, scale) * sizes_[sizes[c]];
      return sum;
    };
    if (bytes(0) > room_) return std::nullopt;
    double low = 0, high = 16;
    for (int step = 0; step < 30; ++step) (bytes((low + high) / 2) <= room_ ? low : high) = (low + high) / 2;
    for (std::size_t c = 0; c < sizes.size(); ++c) d.pools[c].room = objects(c, low);
    return d;
  }

  // The plan under `division` and its time.
  void judge(const std::optional<MemoryDivision>& division, Individual& individual) const {
    individual.time = kNever;
    if (!division) return;
    std::optional<std::vector<Action>> actions = belady_swaps(profile_, *division);
    if (!actions) return;
    individual.plan = empty_plan(profile_, "swap_advisor");
    individual.plan.actions = std::move(*actions);
    individual.plan.why = division->pools[0].counts_bytes
                              ? "one pool"
                              : "objects of " + std::to_string(division->pools.size()) + " classes";
    individual.time = estimated_time(profile_, individual.plan);
  }

 private:
  // Of each pool, how many tensors one kernel needs at once, and how many live at once.
  std::pair<std::vector<std::int64_t>, std::vector<std::int64_t>> demands(const MemoryDivision& d) const {
    std::vector<std::int64_t> least(d.pools.size()), most(d.pools.size()), live(d.pools.size()), now(d.pools.size());
    const auto count = [&](std::size_t t, std::vector<std::int64_t>& of, std::int64_t change) {
      if (d.pool_of[t] >= 0) of[static_cast<std::size_t>(d.pool_of[t])] += change;
    };
    std::vector<std::vector<std::size_t>> made(graph_.kernels.size() + 1), freed(graph_.kernels.size() + 2);
    for (std::size_t t = 0; t < graph_.tensors.size(); ++t) {
      made[static_cast<std::size_t>(graph_.tensors[t].first)].push_back(t);
      freed[static_cast<std::size_t>(graph_.tensors[t].outer) + 1].push_back(t);
    }
    for (std::size_t k = 0; k < graph_.kernels.size(); ++k) {
      for (const std::size_t t : freed[k]) count(t, live, -1);
      for (const std::size_t t : made[k]) count(t, live, 1);
      std::ranges::fill(now, 0);
      for (const TensorUse& use : graph_.uses_of(static_cast<std::int32_t>(k)))
        count(static_cast<std::size_t>(use.tensor), now, 1);
      for (std::size_t c = 0; c < now.size(); ++c) {
        least[c] = std::max(least[c], now[c]);
        most[c] = std::max(most[c], live[c]);
      }
    }
    return {least, most};
  }

  const Profile& profile_;
  const IterationGraph& graph_;
  std::vector<std::int64_t> sizes_;  // distinct, ascending
  std::vector<std::int32_t> rank_;   // of each tensor's size; -1: it is in no pool
  std::int64_t room_ = 0;            // bytes for all pools
};

// A genetic search for the order of the kernels, the size classes of a memory pool and the objects of each class; given
// these, Belady's choice of
// victims among the objects of a class, copies out as soon as the last use is over and copies in as soon as an object
// is free. The fitness is the time of the plan by a model of its own, that of the best few by simulation if asked for.
//
// Classes matter where memory is placed (plan.device_memory=placed, workload.allocator=size_class); where bytes are
// counted, pools=bytes is the bound that no classes reach. On hardware: a runtime with the pool and the plan; MXNet's
// in the paper.
class SwapAdvisor final : public With<Planner, SwapAdvisorOptions> {
 public:
  std::vector<Plan> plan(std::span<const Profile> gpus, PlanServices& services) const override {
    std::vector<Plan> plans;
    for (const Profile& profile : gpus) {
      auto [plan, ordered] = best(profile, services);
      sort_by_use(ordered, plan);
      conclude(ordered, gpus.size(), plan);
      plans.push_back(std::move(plan));
    }
    return plans;
  }

 private:
  std::int64_t limit_of(const Profile& profile) const {
    return static_cast<std::int64_t>(options_.budget * static_cast<double>(profile.budget.value));
  }

  // The plan, and the iteration that it is for.
  std::pair<Plan, Profile> best(const Profile& profile, PlanServices& services) const {
    const Breeder breeder(profile, limit_of(profile), options_.min_bytes.value);
    if (profile.peak() <= limit_of(profile) || breeder.genes() == 0) {
      Plan plan = empty_plan(profile, "swap_advisor");
      plan.why = profile.peak() <= limit_of(profile) ? "the iteration fits" : "no tensor is large enough to be swapped";
      return {plan, profile};
    }
    const KernelOrder orders(*profile.graph);
    const bool searches = options_.pools == "classes" || searches_order(orders);
    std::vector<Individual> found = searches ? search(profile, breeder, orders, services) : std::vector<Individual>{};
    std::string searched = std::to_string(options_.population * (generations(orders) + 1)) + " individuals";
    if (found.empty() || found[0].time == kNever) {
      if (!found.empty()) searched += ", of which none fits";
      found.resize(1);
      breeder.judge(breeder.one_pool(), found[0]);
    }
    if (found[0].time == kNever) {
      Plan plan = empty_plan(profile, "swap_advisor");
      plan.why = "what one kernel needs does not fit into the pool";
      return {plan, profile};
    }
    std::size_t fastest = verified(found, services);
    Plan plan = std::move(found[fastest].plan);
    plan.why += ", " + seconds_text(found[fastest].time) + " by the model";
    if (searches) plan.why += "; " + searched;
    if (plan.order.empty()) return {plan, profile};
    std::string why;
    return {plan, *services.rewritten(profile, 1, plan.order, why)};
  }

  bool searches_order(const KernelOrder& orders) const { return options_.order && orders.is_free(); }
  // How many generations there are after the first.
  int generations(const KernelOrder& orders) const { return options_.generations * (searches_order(orders) ? 2 : 1); }

  // The plan of `individual` and its time.
  void judge(const Profile& profile, const KernelOrder& orders, PlanServices& services, Individual& individual) const {
    std::vector<std::int32_t> order = orders.by_priority(individual.turn);
    if (std::ranges::is_sorted(order)) order.clear();
    std::string why;
    const std::optional<Profile> other = order.empty() ? std::nullopt : services.rewritten(profile, 1, order, why);
    const Breeder breeder(other ? *other : profile, limit_of(profile), options_.min_bytes.value);
    breeder.judge(options_.pools == "bytes" ? breeder.one_pool() : breeder.classes(individual), individual);
    if (other) individual.plan.order = std::move(order);
  }

  // Which of the best few is the fastest in the simulation.
  std::size_t verified(const std::vector<Individual>& found, PlanServices& services) const {
    std::vector<std::vector<Plan>> sets;
    for (std::size_t n = 0; n < found.size() && n < static_cast<std::size_t>(options_.verify); ++n)
      if (found[n].time != kNever) sets.push_back({found[n].plan});
    if (sets.size() < 2) return 0;
    const std::vector<Evaluation> times = services.evaluate(sets);
    return static_cast<std::size_t>(std::ranges::min_element(times, {}, &Evaluation::time) - times.begin());
  }

  // The last generation, the fastest first.
  std::vector<Individual> search(const Profile& profile, const Breeder& breeder, const KernelOrder& orders,
                                 PlanServices& services) const {
    Draw draw(options_.seed);
    std::vector<Individual> generation = first(breeder, profile.graph->kernels.size(), draw);
    const auto judged = [&](Individual& i) { judge(profile, orders, services, i); };
    std::ranges::for_each(generation, judged);
    std::ranges::stable_sort(generation, {}, &Individual::time);
    for (int g = 0; g < generations(orders); ++g) {
      std::vector<Individual> next(generation.begin(), generation.begin() + 1);  // the best lives on
      while (next.size() < generation.size()) {
        const Individual& b = parent(generation, draw);
        const Individual& a = parent(generation, draw);
        next.push_back(child(a, b, draw));
        if (g >= options_.generations) inherit_order(b, next.back(), draw);
        judged(next.back());
      }
      std::ranges::stable_sort(next, {}, &Individual::time);
      generation = std::move(next);
    }
    return generation;
  }

  // Classes of all sizes, one class, classes that double, and what chance makes; all in the program's order.
  std::vector<Individual> first(const Breeder& breeder, std::size_t kernels, Draw& draw) const {
    std::vector<Individual> generation(static_cast<std::size_t>(options_.population));
    for (std::size_t n = 0; n < generation.size(); ++n) {
      Individual& i = generation[n];
      i.is_class.resize(breeder.genes());
      i.weight.assign(breeder.genes(), 1);
      for (std::size_t s = 0; s < breeder.genes(); ++s) {
        const bool doubles = s + 1 < breeder.genes() && std::ilogb(static_cast<double>(breeder.size(s))) !=
                                                            std::ilogb(static_cast<double>(breeder.size(s + 1)));
        i.is_class[s] = n == 0 || (n == 2 && doubles) || (n > 2 && draw.chance(0.5)) ? 1 : 0;
      }
      i.turn.resize(kernels);
      std::iota(i.turn.begin(), i.turn.end(), 0);
    }
    return generation;
  }

  // The earlier kernels of one parent, `c`'s as it is, the later ones of the other, and some elsewhere.
  void inherit_order(const Individual& other, Individual& c, Draw& draw) const {
    const auto middle = static_cast<std::ptrdiff_t>(draw.below(c.turn.size() + 1));
    std::copy(other.turn.begin() + middle, other.turn.end(), c.turn.begin() + middle);
    move_kernels(c, draw);
  }
  void move_kernels(Individual& i, Draw& draw) const {
    for (int n = 0; n < options_.moves; ++n)
      i.turn[draw.below(i.turn.size())] = draw.share() * static_cast<double>(i.turn.size());
  }

  const Individual& parent(const std::vector<Individual>& generation, Draw& draw) const {
    std::vector<double> weight;
    double sum = 0;
    for (const Individual& i : generation) {
      const double worse = i.time == kNever ? 1e9 : seconds(i.time) / seconds(generation[0].time) - 1;
      weight.push_back(std::exp(-worse / options_.temperature));
      sum += weight.back();
    }
    double at = draw.share() * sum;
    for (std::size_t n = 0; n < generation.size(); ++n)
      if ((at -= weight[n]) < 0) return generation[n];
    return generation[0];
  }

  // The smaller sizes of one parent, the larger ones of the other; then some genes change.
  Individual child(const Individual& a, const Individual& b, Draw& draw) const {
    Individual c{.is_class = a.is_class, .weight = a.weight, .turn = a.turn};
    const std::size_t cut = draw.below(c.is_class.size() + 1);
    for (std::size_t s = 0; s < c.is_class.size(); ++s) {
      if (s >= cut) c.is_class[s] = b.is_class[s], c.weight[s] = b.weight[s];
      if (draw.chance(options_.mutation)) c.is_class[s] = c.is_class[s] == 0 ? 1 : 0;
      if (draw.chance(options_.mutation)) c.weight[s] *= draw.chance(0.5) ? 2 : 0.5;
    }
    return c;
  }
};

const bool kRegistered = add_plug_in<Planner, SwapAdvisor>(
    {.name = "swap_advisor",
     .summary = "a genetic search over kernel orders and size classes of memory, Belady's victims in each class",
     .source = "Huang et al., SwapAdvisor: Push Deep Learning Beyond the GPU Memory Limit via Smart Swapping, ASPLOS "
               "2020, sections 4 and 5",
     .on_hardware = "a framework that takes an order of kernels and a division of memory (the paper: MXNet), and "
                    "pinned host memory"});

}  // namespace
}  // namespace uvmsim
