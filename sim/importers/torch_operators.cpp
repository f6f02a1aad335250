#include "importers/torch_operators.h"

#include <map>
#include <nlohmann/json.hpp>
#include <unordered_map>

#include "base/user_error.h"
#include "base/version.h"
#include "importers/line_fields.h"
#include "importers/lines.h"
#include "importers/text_fields.h"
#include "trace/checker.h"
#include "trace/format.h"
#include "workload/generators/dnn/torch_kernels.h"
#include "workload/generators/dnn/training.h"

namespace uvmsim {
namespace {

using Json = nlohmann::json;
using dnn::DataType;

template <class T>
T named(const std::map<std::string, T, std::less<>>& names, const std::string& name, const char* what) {
  const auto found = names.find(name);
  if (found == names.end()) expected(what, name);
  return found->second;
}

const std::map<std::string, TensorKind, std::less<>> kKinds = {
    {"param", TensorKind::Param},    {"wgrad", TensorKind::WeightGradient}, {"grad", TensorKind::Gradient},
    {"act", TensorKind::Activation}, {"opt", TensorKind::Optimizer},        {"input", TensorKind::Input},
    {"ws", TensorKind::Workspace},   {"other", TensorKind::Other}};
const std::map<std::string, DataType, std::less<>> kTypes = {
    {"f32", DataType::Float32}, {"f16", DataType::Float16}, {"bf16", DataType::BFloat16},
    {"f64", DataType::Float64}, {"i64", DataType::Int64},   {"i32", DataType::Int32},
    {"u8", DataType::UInt8},    {"i8", DataType::UInt8},    {"bool", DataType::UInt8}};

std::int64_t whole_of(const Json& value, trace::Limits limits, const char* what) {
  const std::int64_t number = value.is_number_integer() ? value.get<std::int64_t>() : limits.low - 1;
  if (number < limits.low || number > limits.high)
    throw trace::ParseError{std::string("expected ") + what + " of " + std::to_string(limits.low) + ".." +
                            std::to_string(limits.high)};
  return number;
}

// A script that could not be traced: its own place and words.
struct ScriptFailure {
  std::string place, message;
};

class Reader {
 public:
  Reader(const dnn::RooflineDevice& device)
      : builder_(dnn::roofline_header(device)),
        recorder_({.device = device, .torch = dnn::TorchVersion::V2_x}, builder_) {
    builder_.header().operands_status = "exact";
    builder_.header().unknowns = {
        "workspaces of convolutions and matrix products: left out, as the choice of their algorithm is not known"};
  }

  void line(std::string_view bytes) {
    const Json parsed = Json::parse(bytes.begin(), bytes.end(), nullptr, false);
    if (!parsed.is_object()) throw trace::ParseError{"expected one JSON object a line"};
    const std::string kind = text(parsed, "k");
    if (kind == "error") throw ScriptFailure{text(parsed, "place"), text(parsed, "message")};
    if (!started_ && kind != "header") throw trace::ParseError{"expected the header of uvmsim-torch"};
    if (ended_) throw trace::ParseError{"expected nothing after the \"end\" line"};
    read(kind, parsed);
  }

  bool ended() const { return ended_; }

  trace::Trace take() { return builder_.take(); }

 private:
  void read(const std::string& kind, const Json& l) {
    if (kind == "header") return header(l);
    if (kind == "tensor") return tensor(l);
    if (kind == "gone") return gone(l);
    if (kind == "op") return op(l);
    if (kind == "upload") return upload(l);
    if (kind == "iteration") return recorder_.iteration(iterations_++);
    if (kind == "phase") return phase(text(l, "n"));
    if (kind == "layer") return recorder_.enter(text(l, "n"));
    if (kind == "note") return builder_.header().unknowns.push_back(text(l, "text"));
    if (kind != "end") expected("a line of uvmsim-torch", kind);
    ended_ = true;
  }

  void header(const Json& l) {
    if (started_ || whole(l, "uvmsim_torch", 0) != 1)
      throw trace::ParseError{"expected version 1 of uvmsim_torch, once"};
    started_ = true;
    trace::Header& header = builder_.header();
    header.generator = std::string("uvmsim ") + kVersion + " trace torch";
    header.name = text(l, "name");
    header.provenance = "PyTorch " + text(l, "torch") + " on meta tensors";
    header.sample_unit = "samples";
    header.samples = static_cast<double>(whole(l, "samples", 0));
  }

  void phase(const std::string& name) {
    in_backward_ = name == "backward";
    in_optimizer_ = name == "optimizer";
    recorder_.phase(name);
  }

  void tensor(const Json& l) {
    const std::int64_t id = whole(l, "id");
    const std::int64_t bytes = whole_of(l.value("bytes", Json()), {1, trace::kMostBytes}, "\"bytes\"");
    if (tensors_.contains(id)) throw trace::ParseError{"tensor " + std::to_string(id) + " is there already"};
    tensors_[id] = {recorder_.allocate(bytes, named(kKinds, text(l, "is"), "a kind of tensor")), bytes};
  }

  void gone(const Json& l) {
    const auto found = live(whole(l, "id"));
    recorder_.free(found->second.id);
    tensors_.erase(found);
  }

  dnn::TorchTensor operand(const Json& value) const {
    if (!value.is_array() || value.size() < 5 || !value[3].is_string() || !value[4].is_array())
      throw trace::ParseError{"expected operands as [id, offset, length, type, shape]"};
    const Tensor& tensor = live(whole_of(value[0], {0, INT64_MAX}, "a tensor"))->second;
    dnn::TorchTensor operand{.storage = tensor.id, .storage_bytes = tensor.bytes};
    operand.offset = whole_of(value[1], {0, tensor.bytes - 1}, "an offset in the tensor");
    operand.length = whole_of(value[2], {1, tensor.bytes - operand.offset}, "a length in the tensor");
    operand.type = named(kTypes, value[3].get<std::string>(), "a type of elements");
    std::int64_t count = 1;
    for (const Json& extent : value[4]) {
      operand.shape.push_back(whole_of(extent, {1, trace::kMostBytes}, "an extent"));
      if (__builtin_mul_overflow(count, operand.shape.back(), &count) || count > trace::kMostBytes)
        throw trace::ParseError{"expected a shape of at most 2^48 elements"};
    }
    operand.transposed = value.size() > 5;
    return operand;
  }

  std::vector<dnn::TorchTensor> operands(const Json& l, const char* key) const {
    std::vector<dnn::TorchTensor> all;
    for (const Json& value : list(l, key)) all.push_back(operand(value));
    return all;
  }

  void op(const Json& l) {
    dnn::TorchOperator op{.name = text(l, "n"), .reads = operands(l, "r"), .writes = operands(l, "w")};
    op.of_backward = in_backward_;
    op.of_optimizer = in_optimizer_;
    if (const auto found = l.find("a"); found != l.end()) arguments(*found, op);
    launch(recorder_, op);
  }

  static void arguments(const Json& a, dnn::TorchOperator& op) {
    if (!a.is_object()) throw trace::ParseError{"expected \"a\", an object"};
    op.groups = whole_of(a.value("groups", Json(1)), {1, trace::kMostBytes}, "\"groups\"");
    op.transposed = a.value("transposed", Json(false)) == Json(true);
    for (const Json& wanted : a.value("output_mask", Json::array())) op.wanted.push_back(wanted == Json(true));
    const Json window = a.value("kernel_size", Json::array());
    if (!window.is_array() || window.size() > 3)
      throw trace::ParseError{"expected \"kernel_size\", up to three numbers"};
    for (const Json& extent : window) op.window *= whole_of(extent, {1, 1 << 15}, "\"kernel_size\"");
  }

  // From pinned memory of the host.
  void upload(const Json& l) {
    for (const dnn::TorchTensor& t : operands(l, "w")) {
      trace::Copy copy;
      copy.bytes = t.length;
      builder_.copy(copy, {at(writes(t.storage), t.offset, t.length == t.storage_bytes ? -1 : t.length)});
    }
  }

  struct Tensor {
    trace::TensorId id = 0;
    std::int64_t bytes = 0;
  };
  using Tensors = std::unordered_map<std::int64_t, Tensor>;
  Tensors::const_iterator live(std::int64_t id) const {
    const auto found = tensors_.find(id);
    if (found == tensors_.end()) throw trace::ParseError{"tensor " + std::to_string(id) + " is not there"};
    return found;
  }

  TraceBuilder builder_;
  dnn::Recorder recorder_;
  Tensors tensors_;  // live ones; looked up, never walked
  bool started_ = false, ended_ = false, in_backward_ = false, in_optimizer_ = false;
  int iterations_ = 0;
};

}  // namespace

trace::Trace read_torch_operators(const ImportFile& file, const dnn::RooflineDevice& device) {
  Reader reader(device);
  trace::ErrorList errors;
  try {
    each_line(file, errors, [&](std::string_view line, std::int64_t) { reader.line(line); });
  } catch (const ScriptFailure& failure) {
    throw UserError(failure.place, failure.message);
  }
  if (errors.empty() && !reader.ended())
    errors.add(file.name(), "ends before its \"end\" line: the recording was cut off");
  if (!errors.empty()) throw UserError("trace torch", errors.errors("trace torch"));
  trace::Trace trace = reader.take();
  if (std::vector<InputError> broken = check_trace(trace); !broken.empty())
    throw UserError(file.name() + " as a trace", std::move(broken));
  return trace;
}

}  // namespace uvmsim
