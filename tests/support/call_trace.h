// Small traces for call policies, and the calls that policies make of them as text.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "base/json_reader.h"
#include "plan/call_policy.h"
#include "support/sizes.h"
#include "workload/trace_builder.h"

namespace uvmsim {

inline TraceBuilder call_trace() {
  trace::Header header;
  header.name = "small";
  return TraceBuilder(header);
}

inline trace::Kernel kernel_on(std::int32_t stream = 0) { return {.stream = stream, .duration_ns = 1000}; }

// The policy `name` with parameters as a config writes them.
inline std::unique_ptr<CallPolicy> call_policy(const std::string& name, const std::string& parameters = "{}") {
  std::unique_ptr<CallPolicy> policy = call_policies().find(name)->make();
  std::vector<InputError> errors;
  ResolvedConfig resolved;
  const JsonValue json = parse_json(parameters, "test", errors);
  const DescribedObject part = policy->parameters();
  read_described(&json, "", {&part, 1}, errors, resolved);
  for (const InputError& error : errors) ADD_FAILURE() << error.place << ": " << error.message;
  return policy;
}

// A GPU of so many MiB; tensors live where cudaMallocManaged puts them.
inline CallSetting setting_of(std::int64_t mib = 32) {
  CallSetting setting{.gpu_memory = Bytes{mib * kMiB}, .has_discard = true, .placement = {}};
  setting.placement.allocator = "none";
  return setting;
}

inline std::string on_stream(std::int32_t stream) { return stream == 0 ? "" : " @" + std::to_string(stream); }

inline std::string text_of_call(const trace::Record& call) {
  if (const auto* r = std::get_if<trace::Prefetch>(&call))
    return (r->destination < 0 ? "to host " : "prefetch ") + std::to_string(r->tensor) + on_stream(r->stream);
  if (const auto* r = std::get_if<trace::Discard>(&call))
    return (r->lazy ? "discard lazily " : "discard ") + std::to_string(r->tensor) + on_stream(r->stream);
  if (const auto* r = std::get_if<trace::Advise>(&call))
    return "advise " + std::to_string(r->tensor) + " " + std::to_string(r->advice) + " for " +
           std::to_string(r->device);
  if (const auto* r = std::get_if<trace::EventRecord>(&call))
    return "record " + std::to_string(r->event) + on_stream(r->stream);
  if (const auto* r = std::get_if<trace::EventWait>(&call))
    return "wait " + std::to_string(r->event) + on_stream(r->stream);
  return "not a call";
}

// One line per call: "at: what tensor", streams other than 0 behind "@".
inline std::vector<std::string> lines_of(const std::vector<InsertedCall>& calls) {
  std::vector<std::string> lines;
  for (const InsertedCall& call : calls) lines.push_back(std::to_string(call.at) + ": " + text_of_call(call.call));
  return lines;
}

}  // namespace uvmsim
