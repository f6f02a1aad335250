#include "study/advice/candidates.h"

#include <algorithm>
#include <array>

#include "base/join.h"
#include "plan/planner.h"
#include "study/integer_parameter.h"

namespace uvmsim {
namespace {

constexpr std::string_view kDriverKey = "driver.uvm_";

// "options nvidia-uvm NAME=VALUE" where a policy is nothing but module parameters; else what its file says.
std::string change_of(const PolicyFile& policy) {
  std::string options;
  for (const std::string& setting : policy.settings) {
    if (!setting.starts_with(kDriverKey)) return policy.on_hardware;
    std::string option = setting.substr(std::string_view("driver.").size());
    if (option.ends_with("=true")) option.replace(option.size() - 4, 4, "1");
    if (option.ends_with("=false")) option.replace(option.size() - 5, 5, "0");
    options += " " + option;
  }
  return options.empty() ? policy.on_hardware : "options nvidia-uvm" + options + "   (in /etc/modprobe.d/uvm.conf)";
}

void add_policies(const std::vector<PolicyFile>& policies, std::vector<Candidate>& all) {
  for (const PolicyFile& policy : policies) {
    const bool parameters = change_of(policy) != policy.on_hardware;
    all.push_back({.kind = "policy",
                   .name = policy.name,
                   .meaning = policy.description,
                   .change = change_of(policy),
                   .needs = parameters ? "root on the host; the module is loaded again" : "",
                   .machine = {},
                   .settings = policy.settings});
  }
}

void add_planners(const Experiment& base, std::vector<Candidate>& all) {
  std::vector<std::string> names = advised_planners();
  if (base.plan.parameters != nullptr && std::ranges::find(names, base.plan.planner) == names.end())
    names.insert(names.begin(), base.plan.planner);
  for (const std::string& name : names) {
    const auto& entry = *planners().find(name);
    all.push_back({.kind = "planner",
                   .name = name,
                   .meaning = entry.summary,
                   .change = entry.on_hardware.empty()
                                 ? "copies of tensors by the framework, as `uvmsim plan` prints them"
                                 : entry.on_hardware,
                   .needs = "explicit memory (cudaMalloc) instead of Unified Memory",
                   .machine = {},
                   .settings = {"workload.memory=device", "plan.planner=" + name}});
  }
}

// The text of a parameter of the generator; "" when it has none of that name.
std::string parameter(const Experiment& base, const std::string& name) {
  const auto [description, object] = base.workload.parameters->parameters();
  const FieldInfo* field = description->find(name);
  if (field == nullptr || field->kind != FieldInfo::Kind::Text || field->choices.empty()) return "";
  return *static_cast<const std::string*>(field->locate(object));
}

// Of durations that are scaled to a measured iteration nobody knows what other kernels would take.
void add_parameters(const Experiment& base, std::vector<Candidate>& all) {
  if (!base.workload.parameters || base.workload.in_core.given()) return;
  const std::string& architecture = base.machine.gpus.front().architecture;
  const std::array<std::string, 3> kBeforeBf16 = {"pascal", "volta", "turing"};
  const bool fp16 = std::ranges::find(kBeforeBf16, architecture) != kBeforeBf16.end();
  if (parameter(base, "dtype") == "fp32") {
    const std::string dtype = fp16 ? "fp16" : "bf16";
    all.push_back({.kind = "parameter",
                   .name = "dtype " + dtype,
                   .meaning = "parameters and activations of half the size, products on tensor cores",
                   .change = fp16 ? "model.half()" : "model.bfloat16()",
                   .needs = fp16 ? "a scaled loss (torch.cuda.amp.GradScaler); other rounding"
                                 : "other rounding; Ampere or later",
                   .machine = {},
                   .settings = {"workload.dtype=" + dtype}});
  }
  if (parameter(base, "attention") == "eager")
    all.push_back({.kind = "parameter",
                   .name = "fused attention",
                   .meaning = "scores and probabilities are not written to memory",
                   .change = "torch.nn.functional.scaled_dot_product_attention(q, k, v)",
                   .needs = "PyTorch 2",
                   .machine = {},
                   .settings = {"workload.attention=flash"}});
}

void add_allocators(const Experiment& base, std::vector<Candidate>& all) {
  const PlacementOptions& placement = base.workload.placement;
  if (placement.allocator == "torch_1_0")
    all.push_back({.kind = "allocator",
                   .name = "torch_2",
                   .meaning = "PyTorch 2's caching allocator, with its own sizes of segments",
                   .change = "PyTorch 2 instead of 1.0",
                   .needs = "",
                   .machine = {},
                   .settings = {"workload.allocator=torch_2"}});
  if (!placement.prefetch_on_alloc && placement.allocator != "none")
    all.push_back({.kind = "allocator",
                   .name = "prefetch_on_alloc",
                   .meaning = "each new segment of the allocator is brought to its GPU at once, not by faults",
                   .change = "cudaMemPrefetchAsync(ptr, size, device, stream) behind each cudaMallocManaged",
                   .needs = "a pluggable allocator (torch.cuda.memory.CUDAPluggableAllocator)",
                   .machine = {},
                   .settings = {"workload.prefetch_on_alloc=true"}});
}

void add_cards(const std::vector<std::string>& cards, std::vector<Candidate>& all) {
  for (const std::string& card : cards)
    all.push_back({.kind = "card",
                   .name = card,
                   .meaning = "the same on another machine",
                   .change = "run it on " + card,
                   .needs = "that machine",
                   .machine = card});
}

}  // namespace

const std::vector<std::string>& advised_planners() {
  static const std::vector<std::string> names = {"chen_sqrt_n", "tmo_like_online", "zero_offload", "capuchin", "vdnn"};
  return names;
}

const std::vector<std::string>& advised_policies() {
  static const std::vector<std::string> names = {"threshold_5",      "prefetch_off", "operand_prefetch",
                                                 "activations_only", "discard",      "driver_580"};
  return names;
}

std::vector<Candidate> candidates_of(const Experiment& base, bool fits, const std::vector<PolicyFile>& policies,
                                     const std::vector<std::string>& cards) {
  std::vector<Candidate> all;
  add_cards(cards, all);
  add_parameters(base, all);
  if (fits) {
    all.push_back({.kind = "memory",
                   .name = "cudaMalloc",
                   .meaning = "memory of the GPU, which suffices: nothing faults",
                   .change = "cudaMalloc instead of cudaMallocManaged",
                   .needs = "",
                   .machine = {},
                   .settings = {"workload.memory=device"}});
  } else {
    add_policies(policies, all);
    add_planners(base, all);
    add_allocators(base, all);
  }
  if (const IntegerParameter batch(base.workload.parameters.get(), "batch"); batch.exists()) {
    if (fits) all.push_back(batch_candidate(2 * batch.given(), false));
    if (batch.given() > 1) all.push_back(batch_candidate(batch.given() / 2, false));
  }
  return all;
}

Candidate input_candidate(const std::string& parameter, const std::string& largest) {
  const bool pool = parameter.starts_with("allocator_options.");
  return {.kind = "parameter",
          .name = parameter + " " + largest,
          .meaning = std::string("the largest ") + (pool ? "initial pool" : "input") +
                     " that fits, with cudaMalloc instead of Unified Memory",
          .change = parameter + "=" + largest,
          .needs = pool ? "" : "the input split into more pieces; the same work in all takes more of them",
          .machine = {},
          .settings = {"workload." + parameter + "=" + largest, "workload.memory=device"}};
}

Candidate batch_candidate(std::int64_t size, bool largest_that_fits) {
  const std::string text = std::to_string(size);
  Candidate batch{.kind = "batch",
                  .name = "batch " + text,
                  .meaning = "another batch, under Unified Memory as now",
                  .change = "batch_size=" + text,
                  .needs = "as many samples per step as before: accumulate gradients over several batches",
                  .machine = {},
                  .settings = {"workload.batch=" + text}};
  if (largest_that_fits) {
    // Managed memory never runs out, so the allocator would not give back what it caches.
    batch.meaning = "the largest batch that fits, with cudaMalloc instead of Unified Memory";
    batch.settings.emplace_back("workload.memory=device");
  }
  return batch;
}

}  // namespace uvmsim
