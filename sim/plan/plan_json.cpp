#include "plan/plan_json.h"

#include <algorithm>
#include <limits>
#include <map>
#include <nlohmann/json.hpp>
#include <tuple>

#include "base/json_reader.h"
#include "plan/plan_names.h"

namespace uvmsim {
namespace {

using Json = nlohmann::ordered_json;

constexpr int kVersion = 1;
constexpr Range kOrdinal = {0, std::numeric_limits<std::int32_t>::max()};

// --- the values as they are written, described for the reader

struct WrittenTransfer {
  std::string on = "access";
  int kernel = 0;
  std::string sync = "stream";
};
struct WrittenDisposition {
  int tensor = -1, last_use = -1, next_use = -1;
  std::int64_t bytes = 0;
  std::string kind;
  WrittenTransfer out{}, in{};
  std::string release = "copy_done";
  std::vector<std::int64_t> kernels{};
  std::string codec{};
  std::int64_t encoded_bytes = 0;
};
struct WrittenCall {
  std::string kind;
  int kernel = -1;
  std::string when = "before";
  int tensor = -1;
  std::int64_t offset = 0, bytes = -1;
  std::string destination = "gpu";
  std::string advice = "preferred_location";
  bool unset = false;
  std::string stream = "kernel";
  int awaited_by = -1;
};
struct WrittenShape {
  int kernels = -1, held = -1, made = -1;
};
struct WrittenPlan {
  int gpu = -1;
  WrittenShape iteration{};
  std::string planner{}, why{};
  bool feasible = true;
  std::int64_t budget_bytes = 0;
  std::string reclaim = "lms";
  bool speculate = false;
  std::vector<std::int64_t> layer_ends{};
  std::vector<WrittenDisposition> dispositions{};
  std::vector<WrittenCall> calls{};
};
struct WrittenFile {
  int version = 0;
  std::string workload{};
  std::vector<WrittenPlan> plans{};
};

const Description& describe_transfer() {
  using W = WrittenTransfer;
  static const Description d = Describe<W>("when a transfer starts, and who waits for it")
                                   .text("on", &W::on, "what starts it", kTriggerNames)
                                   .integer("kernel", &W::kernel, "before or after which kernel", kOrdinal)
                                   .text("sync", &W::sync, "who waits for it", kSyncNames)
                                   .build();
  return d;
}

const Description& describe_disposition() {
  using W = WrittenDisposition;
  static const Description d = Describe<W>("what happens to a tensor between two uses")
                                   .integer("tensor", &W::tensor, "ordinal of the allocation", kOrdinal)
                                   .integer("last_use", &W::last_use, "the kernel before", kOrdinal)
                                   .integer("next_use", &W::next_use, "the kernel after", kOrdinal)
                                   .integer("bytes", &W::bytes, "of the tensor", {0, {}}, "B")
                                   .text("kind", &W::kind, "what happens", kDispositionNames)
                                   .section("out", &W::out, describe_transfer(), "out of the GPU")
                                   .section("in", &W::in, describe_transfer(), "into the GPU")
                                   .text("release", &W::release, "when the device bytes become free", kReleaseNames)
                                   .integers("kernels", &W::kernels, "those that recompute the tensor", kOrdinal)
                                   .text("codec", &W::codec, "what encodes it")
                                   .integer("encoded_bytes", &W::encoded_bytes, "what it takes then", {0, {}}, "B")
                                   .build();
  return d;
}

const Description& describe_call() {
  using W = WrittenCall;
  static const Description d =
      Describe<W>("a call of the CUDA runtime beside a kernel")
          .text("kind", &W::kind, "which call", kCallNames)
          .integer("kernel", &W::kernel, "beside which kernel", kOrdinal)
          .text("when", &W::when, "before or after its launch", kPlaceNames)
          .integer("tensor", &W::tensor, "ordinal of the allocation", kOrdinal)
          .integer("offset", &W::offset, "of the first byte", {0, {}}, "B")
          .integer("bytes", &W::bytes, "how many; -1: to the tensor's end", {-1, {}}, "B")
          .text("destination", &W::destination, "where a prefetch moves it; whose an advice is", kProcessorNames)
          .text("advice", &W::advice, "which", kAdviceNames)
          .flag("unset", &W::unset, "the advice is taken back")
          .text("stream", &W::stream, "the kernel's own, or one beside it", kCallStreamNames)
          .integer("awaited_by", &W::awaited_by, "the first kernel that waits for it; -1: none", {-1, kOrdinal.max})
          .build();
  return d;
}

const Description& describe_shape() {
  using W = WrittenShape;
  static const Description d = Describe<W>("which iterations")
                                   .integer("kernels", &W::kernels, "kernels of the iteration", kOrdinal)
                                   .integer("held", &W::held, "allocations live when it begins", kOrdinal)
                                   .integer("made", &W::made, "allocations it makes", kOrdinal)
                                   .build();
  return d;
}

const Description& describe_plan() {
  using W = WrittenPlan;
  static const Description d =
      Describe<W>("the plan of one GPU")
          .integer("gpu", &W::gpu, "of the machine", {0, 127})
          .section("iteration", &W::iteration, describe_shape(), "which iterations")
          .text("planner", &W::planner, "who made it")
          .flag("feasible", &W::feasible, "whether it keeps to the budget, by the planner's own model")
          .text("why", &W::why, "what the planner says about it")
          .integer("budget_bytes", &W::budget_bytes, "device memory that it was made for", {0, {}}, "B")
          .text("reclaim", &W::reclaim, "what an allocation does that finds too few bytes", kReclaimNames)
          .flag("speculate", &W::speculate, "copy out early what was reclaimed an iteration before")
          .integers("layer_ends", &W::layer_ends, "the last kernel of each layer", kOrdinal)
          .sections("dispositions", &W::dispositions, describe_disposition(), "of idle intervals")
          .sections("calls", &W::calls, describe_call(), "beside kernels")
          .build();
  return d;
}

const Description& describe_file() {
  using W = WrittenFile;
  static const Description d = Describe<W>("plans of a job")
                                   .integer("version", &W::version, "of this format", {kVersion, kVersion})
                                   .text("workload", &W::workload, "the trace's name")
                                   .sections("plans", &W::plans, describe_plan(), "one per GPU and iteration shape")
                                   .build();
  return d;
}

// --- from words to values

template <class Enum>
Enum value_of(const std::vector<std::string>& names, const std::string& name) {
  return static_cast<Enum>(std::ranges::find(names, name) - names.begin());
}
template <class Enum>
const std::string& name_of(const std::vector<std::string>& names, Enum value) {
  return names[static_cast<std::size_t>(value)];
}

std::vector<std::int32_t> narrow(const std::vector<std::int64_t>& values) {
  std::vector<std::int32_t> result;
  for (const std::int64_t v : values) result.push_back(static_cast<std::int32_t>(v));
  return result;
}

Transfer read(const WrittenTransfer& w) {
  return {.at = {.on = value_of<Trigger::On>(kTriggerNames, w.on), .kernel = w.kernel},
          .sync = value_of<Sync>(kSyncNames, w.sync)};
}

Disposition read(const WrittenDisposition& w) {
  return {.tensor = w.tensor,
          .last_use = w.last_use,
          .next_use = w.next_use,
          .bytes = w.bytes,
          .kind = value_of<Disposition::Kind>(kDispositionNames, w.kind),
          .out = read(w.out),
          .in = read(w.in),
          .release = value_of<Disposition::Release>(kReleaseNames, w.release),
          .kernels = narrow(w.kernels),
          .codec = w.codec,
          .encoded_bytes = w.encoded_bytes};
}

Call read(const WrittenCall& w) {
  return {.kind = value_of<Call::Kind>(kCallNames, w.kind),
          .kernel = w.kernel,
          .after = w.when == "after",
          .tensor = w.tensor,
          .offset = w.offset,
          .bytes = w.bytes,
          .to_cpu = w.destination == "cpu",
          .advice = static_cast<trace::Advice>(value_of<int>(kAdviceNames, w.advice) + 1),
          .unset = w.unset,
          .stream = value_of<Call::Stream>(kCallStreamNames, w.stream),
          .awaited_by = w.awaited_by};
}

Plan read(const WrittenPlan& w) {
  Plan plan{.gpu = w.gpu,
            .iteration = {w.iteration.kernels, w.iteration.held, w.iteration.made},
            .planner = w.planner,
            .feasible = w.feasible,
            .why = w.why,
            .budget = Bytes{w.budget_bytes},
            .reclaim = value_of<Reclaim>(kReclaimNames, w.reclaim),
            .speculate = w.speculate,
            .layer_ends = narrow(w.layer_ends)};
  for (const WrittenDisposition& d : w.dispositions) plan.dispositions.push_back(read(d));
  for (const WrittenCall& c : w.calls) plan.calls.push_back(read(c));
  return plan;
}

// --- what a plan says about itself must fit together

class Checker {
 public:
  Checker(const JsonValue& document, std::vector<InputError>& errors) : document_(document), errors_(errors) {}

  void check(const std::vector<Plan>& plans) {
    std::map<std::pair<std::int32_t, IterationShape>, std::size_t> first;
    for (std::size_t i = 0; i < plans.size(); ++i) {
      const std::string at = "/plans/" + std::to_string(i);
      const auto [other, is_new] = first.emplace(std::pair(plans[i].gpu, plans[i].iteration), i);
      if (!is_new) error(at, "GPU and iteration are those of /plans/" + std::to_string(other->second));
      check(plans[i], at);
    }
  }

 private:
  void error(const std::string& pointer, std::string message) {
    errors_.push_back({place_of(pointer, document_.origin), std::move(message)});
  }

  void ordinal(std::int32_t value, std::int32_t count, const char* of, const std::string& at) {
    if (value >= count)
      error(at, std::to_string(value) + " is no " + of + ": the iteration has " + std::to_string(count));
  }

  void check(const Plan& plan, const std::string& at) {
    std::map<std::pair<std::int32_t, std::int32_t>, std::size_t> intervals;
    for (std::size_t i = 0; i < plan.dispositions.size(); ++i) {
      const Disposition& d = plan.dispositions[i];
      const std::string here = at + "/dispositions/" + std::to_string(i);
      const auto [other, is_new] = intervals.emplace(std::pair(d.tensor, d.last_use), i);
      if (!is_new) error(here, "the same interval as /dispositions/" + std::to_string(other->second));
      check(d, plan.iteration, here);
    }
    const std::int32_t tensors = plan.iteration.held + plan.iteration.made;
    for (std::size_t i = 0; i < plan.calls.size(); ++i) {
      const Call& c = plan.calls[i];
      const std::string here = at + "/calls/" + std::to_string(i);
      ordinal(c.kernel, plan.iteration.kernels, "kernel", here + "/kernel");
      ordinal(c.tensor, tensors, "tensor", here + "/tensor");
      ordinal(c.awaited_by, plan.iteration.kernels, "kernel", here + "/awaited_by");
    }
  }

  void check(const Disposition& d, const IterationShape& shape, const std::string& at) {
    ordinal(d.tensor, shape.held + shape.made, "tensor", at + "/tensor");
    ordinal(d.last_use, shape.kernels, "kernel", at + "/last_use");
    ordinal(d.next_use, shape.kernels, "kernel", at + "/next_use");
    if (d.out.at.on != Trigger::On::Access) ordinal(d.out.at.kernel, shape.kernels, "kernel", at + "/out/kernel");
    if (d.in.at.on != Trigger::On::Access) ordinal(d.in.at.kernel, shape.kernels, "kernel", at + "/in/kernel");
    for (const std::int32_t k : d.kernels) ordinal(k, shape.kernels, "kernel", at + "/kernels");
    if (d.wraps() && d.tensor >= shape.held)
      error(at + "/next_use", "expected a kernel after last_use: the tensor is made anew in each iteration");
    if (d.kind == Disposition::Kind::Recompute && d.kernels.empty())
      error(at + "/kernels", "missing; expected the kernels that recompute the tensor");
  }

  const JsonValue& document_;
  std::vector<InputError>& errors_;
};

// --- writing

Json json_of(const Transfer& t) {
  Json json = {{"on", name_of(kTriggerNames, t.at.on)}};
  if (t.at.on != Trigger::On::Access) json["kernel"] = t.at.kernel;
  json["sync"] = name_of(kSyncNames, t.sync);
  return json;
}

Json json_of(const Disposition& d) {
  using Kind = Disposition::Kind;
  Json json = {{"tensor", d.tensor},
               {"last_use", d.last_use},
               {"next_use", d.next_use},
               {"bytes", d.bytes},
               {"kind", name_of(kDispositionNames, d.kind)}};
  if (d.kind != Kind::Keep) json["out"] = json_of(d.out), json["in"] = json_of(d.in);
  if (d.release != Disposition::Release::CopyDone) json["release"] = name_of(kReleaseNames, d.release);
  if (!d.kernels.empty()) json["kernels"] = d.kernels;
  if (!d.codec.empty()) json["codec"] = d.codec;
  if (d.encoded_bytes > 0) json["encoded_bytes"] = d.encoded_bytes;
  return json;
}

Json json_of(const Call& c) {
  Json json = {{"kind", name_of(kCallNames, c.kind)},
               {"kernel", c.kernel},
               {"when", kPlaceNames[c.after ? 1 : 0]},
               {"tensor", c.tensor}};
  if (c.offset > 0) json["offset"] = c.offset;
  if (c.bytes >= 0) json["bytes"] = c.bytes;
  if (c.kind == Call::Kind::Prefetch || c.kind == Call::Kind::Advise) json["destination"] = kProcessorNames[c.to_cpu];
  if (c.kind == Call::Kind::Advise) {
    json["advice"] = kAdviceNames[static_cast<std::size_t>(c.advice) - 1];
    if (c.unset) json["unset"] = true;
  }
  if (c.stream != Call::Stream::Kernel) json["stream"] = name_of(kCallStreamNames, c.stream);
  if (c.awaited_by >= 0) json["awaited_by"] = c.awaited_by;
  return json;
}

// What a plan says beside its dispositions and calls.
Json head_of(const Plan& p) {
  Json json = {
      {"gpu", p.gpu},
      {"iteration", {{"kernels", p.iteration.kernels}, {"held", p.iteration.held}, {"made", p.iteration.made}}},
      {"planner", p.planner},
      {"feasible", p.feasible},
      {"why", p.why},
      {"budget_bytes", p.budget.value},
      {"reclaim", name_of(kReclaimNames, p.reclaim)},
      {"speculate", p.speculate}};
  if (!p.layer_ends.empty()) json["layer_ends"] = p.layer_ends;
  return json;
}

std::string dump(const Json& json) { return json.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace); }

template <class T>
std::string list_of(const std::string& key, const std::vector<T>& items) {
  std::string text = ",\n     \"" + key + "\": [";
  for (std::size_t i = 0; i < items.size(); ++i) text += (i == 0 ? "\n      " : ",\n      ") + dump(json_of(items[i]));
  return text + "]";
}

}  // namespace

std::string to_json(const PlanFile& file) {
  std::string text =
      "{\"version\": " + std::to_string(kVersion) + ",\n \"workload\": " + dump(file.workload) + ",\n \"plans\": [";
  for (std::size_t i = 0; i < file.plans.size(); ++i) {
    std::string head = dump(head_of(file.plans[i]));
    head.pop_back();
    text += (i == 0 ? "\n    " : ",\n    ") + head + list_of("dispositions", file.plans[i].dispositions) +
            list_of("calls", file.plans[i].calls) + "}";
  }
  return text + "]}\n";
}

PlanFile read_plans(std::string_view text, const std::string& file) {
  std::vector<InputError> errors;
  const JsonValue document = parse_json(text, file, errors);
  if (!errors.empty()) throw UserError(file, std::move(errors));
  WrittenFile written;
  ResolvedConfig resolved;
  const DescribedObject part{&describe_file(), &written};
  read_described(&document, "", {&part, 1}, errors, resolved);
  if (!errors.empty()) throw UserError(file, std::move(errors));

  PlanFile plans{.workload = written.workload, .plans = {}};
  for (const WrittenPlan& w : written.plans) plans.plans.push_back(read(w));
  Checker(document, errors).check(plans.plans);
  if (!errors.empty()) throw UserError(file, std::move(errors));
  return plans;
}

std::vector<std::string> diff(const PlanFile& a, const PlanFile& b) {
  const auto lines_of = [](const PlanFile& file) {
    std::vector<std::tuple<std::int32_t, IterationShape, int, std::string>> lines;
    for (const Plan& p : file.plans) {
      lines.emplace_back(p.gpu, p.iteration, 0, dump(head_of(p)));
      for (const Disposition& d : p.dispositions) lines.emplace_back(p.gpu, p.iteration, 1, dump(json_of(d)));
      for (const Call& c : p.calls) lines.emplace_back(p.gpu, p.iteration, 2, dump(json_of(c)));
    }
    std::ranges::sort(lines);
    return lines;
  };
  const auto from = lines_of(a), to = lines_of(b);
  std::vector<std::string> differences;
  auto x = from.begin();
  auto y = to.begin();
  while (x != from.end() || y != to.end()) {
    if (x != from.end() && y != to.end() && *x == *y) {
      ++x, ++y;
      continue;
    }
    const bool first = y == to.end() || (x != from.end() && *x < *y);
    const auto& [gpu, shape, kind, line] = first ? *x++ : *y++;
    differences.push_back((first ? "- gpu" : "+ gpu") + std::to_string(gpu) + " " + line);
  }
  return differences;
}

}  // namespace uvmsim
