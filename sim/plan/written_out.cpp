#include "plan/written_out.h"

#include <algorithm>
#include <limits>
#include <map>
#include <unordered_map>
#include <utility>
#include <vector>

#include "base/user_error.h"
#include "plan/codec.h"
#include "plan/lower.h"
#include "plan/no_services.h"
#include "plan/profile.h"
#include "trace/visitor.h"
#include "workload/edit.h"
#include "workload/unused.h"

namespace uvmsim {
namespace {

class ProgramWriter {
 public:
  ProgramWriter(trace::Trace& trace, BytesPerSecond bandwidth)
      : trace_(trace),
        bandwidth_(bandwidth),
        unused_(trace),
        next_event_(unused_.event),
        next_tensor_(unused_.tensor) {}

  void iteration(const IterationRecords& iteration, const Plan& plan) {
    iteration_ = &iteration;
    places_.clear();
    layer_ends_ = &plan.layer_ends;
    for (const Action& action : plan.actions) {
      if (const auto* move = std::get_if<Move>(&action)) write(*move);
      if (const auto* encode = std::get_if<Encode>(&action)) write(*encode);
    }
    for (auto& [place, what] : places_) {
      if (what.joins) what.records.emplace_back(trace::Synchronize{});
      std::ranges::copy(what.after_join, std::back_inserter(what.records));
      for (const trace::Record& record : what.records) inserted_.emplace_back(record_of(place), record);
    }
  }

  bool any() const { return !inserted_.empty(); }
  void finish() {
    insert(trace_, std::move(inserted_));
    rename_returned();
  }

 private:
  // Before the allocations of a kernel, before it, after it.
  enum Moment : std::uint8_t { Allocations, Launch, End };
  using PlaceId = std::pair<std::int32_t, Moment>;
  struct Place {
    std::vector<trace::Record> records, after_join;
    bool joins = false;
  };

  // An allocation's id is never used again: what comes back has another one from there on.
  void rename_returned() {
    std::unordered_map<trace::TensorId, trace::TensorId> names;  // looked up, never walked
    const auto rename = [&](trace::TensorId& tensor) { tensor = names.at(tensor); };
    for (trace::Record& record : trace_.records) {
      if (auto* alloc = std::get_if<trace::Alloc>(&record)) {
        const auto [name, fresh] = names.try_emplace(alloc->tensor, alloc->tensor);
        if (!fresh) alloc->tensor = name->second = next_tensor_++;
      }
      if (auto* free = std::get_if<trace::Free>(&record)) rename(free->tensor);
      if (auto* call = std::get_if<trace::Prefetch>(&record)) rename(call->tensor);
      if (auto* call = std::get_if<trace::Discard>(&record)) rename(call->tensor);
      if (auto* call = std::get_if<trace::Advise>(&record)) rename(call->tensor);
      trace::AccessSpan* span = trace::access_span(record);
      if (span == nullptr) continue;
      const auto first = static_cast<std::uint32_t>(trace_.accesses.size());
      for (std::uint32_t i = span->first; i < span->first + span->count; ++i) {
        trace::Access access = trace_.accesses[i];
        rename(access.tensor);
        trace_.accesses.push_back(access);
      }
      span->first = first;
    }
  }

  std::size_t record_of(const PlaceId& place) const {
    const std::size_t kernel = iteration_->kernels[static_cast<std::size_t>(place.first)];
    if (place.second == End) return kernel + 1;
    const DeviceOrdinal device{std::get<trace::Kernel>(trace_.records[kernel]).device};
    const auto before = static_cast<std::size_t>(allocations_before(trace_, device, kernel));
    return place.second == Launch ? kernel : kernel - before;
  }
  static PlaceId place_of(const Trigger& at) { return {at.kernel, at.on == Trigger::On::BeforeKernel ? Launch : End}; }
  const trace::Kernel& kernel(std::int32_t number) const {
    return std::get<trace::Kernel>(trace_.records[iteration_->kernels[static_cast<std::size_t>(number)]]);
  }
  const trace::Alloc& made(const TensorInterval& of) const {
    return std::get<trace::Alloc>(trace_.records[iteration_->made[static_cast<std::size_t>(of.tensor)]]);
  }
  // The end of the layer of kernel `number`.
  Place& layer_end(std::int32_t number) {
    const auto end = std::ranges::lower_bound(*layer_ends_, number);
    Place& place = places_[{end == layer_ends_->end() ? number : *end, End}];
    place.joins = true;
    return place;
  }

  trace::Copy copy(trace::CopyDirection direction, const TensorInterval& of) {
    const bool out = direction == trace::CopyDirection::DeviceToHost;
    const trace::Alloc& alloc = made(of);
    return {.direction = direction,
            .stream = unused_.stream + (out ? 0 : 1),
            .bytes = alloc.bytes,
            .accesses = operands({{.tensor = alloc.tensor, .mode = out ? trace::Mode::Read : trace::Mode::Write}}),
            .device = alloc.device};
  }

  void write(const Move& move) {
    using trace::CopyDirection;
    Place& out = places_[place_of(move.out.at)];
    const std::int32_t ready = next_event_++;
    out.records.emplace_back(trace::EventRecord{.event = ready, .stream = kernel(move.of.last_use).stream});
    out.records.emplace_back(trace::EventWait{.event = ready, .stream = unused_.stream});
    out.records.emplace_back(copy(CopyDirection::DeviceToHost, move.of));
    layer_end(move.out.at.kernel).after_join.emplace_back(trace::Free{made(move.of).tensor});

    const bool on_demand = move.in.at.on == Trigger::On::Access;
    Place& in = places_[on_demand ? PlaceId{move.of.next_use, Allocations} : place_of(move.in.at)];
    in.records.emplace_back(made(move.of));
    in.records.emplace_back(copy(CopyDirection::HostToDevice, move.of));
    if (on_demand)
      in.records.emplace_back(trace::Synchronize{unused_.stream + 1});
    else
      layer_end(move.in.at.kernel);
  }

  void write(const Encode& encode) {
    const auto codec = codecs().find(encode.codec)->make();
    const trace::Alloc whole = made(encode.of);
    const CodecTensor tensor{.bytes = Bytes{whole.bytes}, .sparsity = encode.sparsity, .ratio = encode.ratio};
    trace::Alloc small = whole;
    small.tensor = next_tensor_++;
    small.bytes = codec->encoded_bytes(tensor).value;
    std::vector<trace::Record>& out = places_[place_of(encode.out)].records;
    out.emplace_back(small);
    out.emplace_back(codec_kernel("encode", codec->encode_time(tensor, bandwidth_), whole, small, encode.of.last_use));
    out.emplace_back(trace::Free{whole.tensor});
    const PlaceId back =
        encode.in.on == Trigger::On::Access ? PlaceId{encode.of.next_use, Allocations} : place_of(encode.in);
    std::vector<trace::Record>& in = places_[back].records;
    in.emplace_back(whole);
    in.emplace_back(codec_kernel("decode", codec->decode_time(tensor, bandwidth_), small, whole, encode.of.next_use));
    in.emplace_back(trace::Free{small.tensor});
  }

  trace::Kernel codec_kernel(const std::string& name, Duration duration, const trace::Alloc& from,
                             const trace::Alloc& to, std::int32_t beside) {
    return {.name = string(name),
            .stream = kernel(beside).stream,
            .duration_ns = std::chrono::ceil<std::chrono::nanoseconds>(duration).count(),
            .accesses = operands({{.tensor = from.tensor, .mode = trace::Mode::Read},
                                  {.tensor = to.tensor, .mode = trace::Mode::Write}}),
            .device = from.device};
  }

  trace::AccessSpan operands(std::initializer_list<trace::Access> of) {
    const auto first = static_cast<std::uint32_t>(trace_.accesses.size());
    trace_.accesses.insert(trace_.accesses.end(), of);
    return {first, static_cast<std::uint32_t>(of.size())};
  }
  trace::StringIndex string(const std::string& text) {
    const auto at = std::ranges::find(trace_.strings, text) - trace_.strings.begin();
    if (at == std::ssize(trace_.strings)) trace_.strings.push_back(text);
    return static_cast<trace::StringIndex>(at);
  }

  trace::Trace& trace_;
  const BytesPerSecond bandwidth_;
  const Unused unused_;
  std::int32_t next_event_;
  trace::TensorId next_tensor_;
  const IterationRecords* iteration_ = nullptr;
  const std::vector<std::int32_t>* layer_ends_ = nullptr;
  std::map<PlaceId, Place> places_;  // of the iteration, in the order of issue
  std::vector<std::pair<std::size_t, trace::Record>> inserted_;
};

}  // namespace

trace::Trace written_out(const trace::Trace& trace, const Planner& planner, BytesPerSecond bandwidth,
                         const std::string& name) {
  trace::Trace program = trace;
  ProgramWriter writer(program, bandwidth);
  NoServices none;
  const ProfileSetting setting{.links = {bandwidth, bandwidth, {}},
                               .budget = Bytes{std::numeric_limits<std::int64_t>::max() / 4}};
  for (const DeviceOrdinal device : devices_of(trace)) {
    std::vector<Plan> plans;
    for (const Profile& profile : profile_iterations(trace, device, GpuIndex{device.value}, setting))
      if (!profile.graph->kernels.empty())
        std::ranges::move(planner.plan({&profile, 1}, none), std::back_inserter(plans));
    std::int32_t number = 0;
    for (const IterationRecords& iteration : iterations_of(trace, device))
      if (const Plan* plan = plan_for(plans, GpuIndex{device.value}, iteration.shape, number++))
        writer.iteration(iteration, *plan);
  }
  if (!writer.any())
    throw UserError(trace.header.name, name + " selects nothing: no feature map waits for the backward pass");
  writer.finish();
  return program;
}

}  // namespace uvmsim
