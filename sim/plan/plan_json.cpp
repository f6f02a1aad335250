#include "plan/plan_json.h"

#include <algorithm>
#include <map>
#include <nlohmann/json.hpp>
#include <tuple>

#include "base/json_reader.h"
#include "base/json_writer.h"
#include "plan/plan_description.h"
#include "plan/plan_version_1.h"

namespace uvmsim {
namespace {

using Json = nlohmann::ordered_json;

constexpr int kVersion = 2;

// --- what a plan says about itself must fit together

class OrdinalChecker {
 public:
  OrdinalChecker(const JsonValue& document, std::vector<InputError>& errors) : document_(document), errors_(errors) {}

  void check(const std::vector<Plan>& plans) {
    std::map<std::tuple<GpuIndex, IterationShape, std::int32_t>, std::size_t> first;
    for (std::size_t i = 0; i < plans.size(); ++i) {
      const std::string at = "/plans/" + std::to_string(i);
      const auto [other, is_new] =
          first.emplace(std::tuple(plans[i].gpu, plans[i].iteration, plans[i].first_iteration), i);
      if (!is_new) error(at, "GPU and iteration are those of /plans/" + std::to_string(other->second));
      check(plans[i], at);
    }
  }

 private:
  void error(const std::string& pointer, std::string message) {
    errors_.push_back({place_of(pointer, document_.origin), std::move(message)});
  }

  void kernel(std::int32_t value, const std::string& at) { ordinal(value, kernels_, "kernel", at); }
  void ordinal(std::int32_t value, std::int32_t count, const char* of, const std::string& at) {
    if (value >= count)
      error(at, std::to_string(value) + " is no " + of + ": the iteration has " + std::to_string(count));
  }

  void check(const Plan& plan, const std::string& at) {
    kernels_ = plan.iteration.kernels;
    held_ = plan.iteration.held;
    tensors_ = held_ + plan.iteration.made;
    for (std::size_t i = 0; i < plan.actions.size(); ++i) {
      const std::string here = at + "/actions/" + std::to_string(i);
      std::visit([&](const auto& action) { this->action(action, here); }, plan.actions[i]);
    }
    for (const std::int32_t k : plan.order) kernel(k, at + "/order");
    for (const std::int32_t k : plan.layer_ends) kernel(k, at + "/layer_ends");
    if (!std::ranges::is_sorted(plan.layer_ends)) error(at + "/layer_ends", "expected kernels in ascending order");
    for (std::size_t i = 0; i < plan.variants.size(); ++i)
      kernel(plan.variants[i].kernel, at + "/variants/" + std::to_string(i) + "/kernel");
    for (std::size_t i = 0; i < plan.calls.size(); ++i) {
      const Call& c = plan.calls[i];
      const std::string here = at + "/calls/" + std::to_string(i);
      kernel(c.kernel, here + "/kernel");
      ordinal(c.tensor, tensors_, "tensor", here + "/tensor");
      kernel(c.awaited_by, here + "/awaited_by");
    }
  }

  void interval(const TensorInterval& i, const std::string& at) {
    ordinal(i.tensor, tensors_, "tensor", at + "/tensor");
    kernel(i.last_use, at + "/last_use");
    kernel(i.next_use, at + "/next_use");
    if (i.wraps() && i.tensor >= held_)
      error(at + "/next_use", "expected a kernel after last_use: the tensor is made anew in each iteration");
  }
  void trigger(const Trigger& t, const std::string& at) {
    if (t.on != Trigger::On::Access) kernel(t.kernel, at + "/kernel");
  }
  void leaves(const Trigger& t, const std::string& at) {
    trigger(t, at);
    if (t.on == Trigger::On::Access) error(at + "/on", "expected before_kernel or after_kernel");
  }

  void action(const Move& a, const std::string& at) {
    interval(a.of, at);
    leaves(a.out.at, at + "/out");
    trigger(a.in.at, at + "/in");
  }
  void action(const Drop& a, const std::string& at) {
    interval(a.of, at);
    leaves(a.at, at + "/at");
  }
  void action(const Encode& a, const std::string& at) {
    interval(a.of, at);
    leaves(a.out, at + "/out");
    trigger(a.in, at + "/in");
    if (a.codec.empty()) error(at + "/codec", "missing; expected a name from `uvmsim list codec`");
  }
  void action(const Recompute& a, const std::string& at) {
    kernel(a.before, at + "/before");
    for (const std::int32_t k : a.kernels) kernel(k, at + "/kernels");
    if (a.kernels.empty()) error(at + "/kernels", "missing; expected the kernels that run again");
    for (std::size_t t = 0; t < a.tensors.size(); ++t) interval(a.tensors[t], at + "/tensors/" + std::to_string(t));
    for (const std::int32_t t : a.drop_again) ordinal(t, tensors_, "tensor", at + "/drop_again");
  }
  void action(const HostCompute& a, const std::string& at) {
    leaves(a.at, at + "/at");
    for (const std::int32_t k : a.kernels) kernel(k, at + "/kernels");
    if (a.kernels.empty()) error(at + "/kernels", "missing; expected the kernels whose work the CPU does");
  }

  const JsonValue& document_;
  std::vector<InputError>& errors_;
  std::int32_t kernels_ = 0, held_ = 0, tensors_ = 0;
};

// --- writing

std::string dump(const Json& json) { return json.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace); }

Json written(const Plan& plan) {
  static const Plan plain;
  return written_as_described(describe_plan(), &plan, &plain);
}

// The member `key`, one item a line.
std::string list_of(const std::string& key, const Json& plan) {
  std::string text = ",\n     \"" + key + "\": [";
  const char* before = "\n      ";
  for (const Json& item : plan.value(key, Json::array())) text += std::exchange(before, ",\n      ") + dump(item);
  return text + "]";
}

Json without_lists(Json plan) {
  plan.erase("actions");
  plan.erase("calls");
  return plan;
}

// What a file says, by GPU and iteration, the plan itself before its actions, these before its calls.
std::vector<std::tuple<GpuIndex, IterationShape, std::int32_t, int, std::string>> lines_of(const PlanFile& file) {
  std::vector<std::tuple<GpuIndex, IterationShape, std::int32_t, int, std::string>> lines;
  for (const Plan& p : file.plans) {
    const Json json = written(p);
    const auto add = [&](int kind, const Json& line) {
      lines.emplace_back(p.gpu, p.iteration, p.first_iteration, kind, dump(line));
    };
    add(0, without_lists(json));
    for (const Json& action : json.value("actions", Json::array())) add(1, action);
    for (const Json& call : json.value("calls", Json::array())) add(2, call);
  }
  std::ranges::sort(lines);
  return lines;
}

int version_of(const JsonValue& document) {
  const JsonValue* version = document.find("version");
  return version != nullptr && version->type == JsonValue::Type::Integer && version->integer == 1 ? 1 : kVersion;
}

}  // namespace

std::string to_json(const PlanFile& file) {
  std::string text =
      "{\"version\": " + std::to_string(kVersion) + ",\n \"workload\": " + dump(file.workload) + ",\n \"plans\": [";
  for (std::size_t i = 0; i < file.plans.size(); ++i) {
    const Json plan = written(file.plans[i]);
    std::string head = dump(without_lists(plan));
    head.pop_back();
    text += (i == 0 ? "\n    " : ",\n    ") + head + list_of("actions", plan) + list_of("calls", plan) + "}";
  }
  return text + "]}\n";
}

PlanFile read_plans(std::string_view text, const std::string& file) {
  std::vector<InputError> errors;
  const JsonValue document = parse_json(text, file, errors);
  if (!errors.empty()) throw UserError(file, std::move(errors));
  PlanFile plans;
  if (version_of(document) == 1) {
    plans = read_version_1(document, errors);
  } else {
    int version = 0;
    const Description head{
        .doc = "plans of a job",
        .fields = Describe<PlanFile>("")
                      .text("workload", &PlanFile::workload, "the trace's name")
                      .sections("plans", &PlanFile::plans, describe_plan(), "one per GPU and iteration shape")
                      .build()
                      .fields};
    FieldInfo number;
    number.name = "version";
    number.kind = FieldInfo::Kind::Integer32;
    number.min = number.max = kVersion;
    number.locate = [&version](void*) -> void* { return &version; };
    const Description of_version{.doc = "", .fields = {number}};
    ResolvedConfig resolved;
    read_described(&document, "", std::vector<DescribedObject>{{&of_version, nullptr}, {&head, &plans}}, errors,
                   resolved);
  }
  if (!errors.empty()) throw UserError(file, std::move(errors));
  OrdinalChecker(document, errors).check(plans.plans);
  if (!errors.empty()) throw UserError(file, std::move(errors));
  return plans;
}

std::vector<std::string> diff(const PlanFile& a, const PlanFile& b) {
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
    const auto& line = first ? *x++ : *y++;
    differences.push_back((first ? "- gpu" : "+ gpu") + std::to_string(std::get<0>(line).value) + " " +
                          std::get<4>(line));
  }
  return differences;
}

}  // namespace uvmsim
