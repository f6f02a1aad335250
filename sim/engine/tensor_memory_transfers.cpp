// How tensors move and where their bytes come from.
#include <algorithm>
#include <set>

#include "engine/clock.h"
#include "engine/tensor_memory.h"
#include "machine/memory_nodes.h"
#include "plan/link_model.h"

namespace uvmsim {
namespace {

// Of a codec of the CPU: one thread for each GPU.
HostComputeQueue::Work codec_work(Duration duration) { return {.cores = duration}; }

}  // namespace

// --- what plans say

void TensorMemory::perform(const op::UnderPlan& under) {
  rules_ = process_.program.plan_rules[static_cast<std::size_t>(under.rules)];
}

int TensorMemory::node_named(std::int16_t name) const {
  if (name < 0) return -1;
  return memory_named(process_.services.machine, process_.program.plan_names[static_cast<std::size_t>(name)]).value();
}

void TensorMemory::perform(const op::SwapOut& out, Time issued) {
  Tensor* t = tensor_starting_at(out.tensor);
  if (t != nullptr && t->state == State::Absent && !out.in_use) t->keep = out.keep;
  if (t == nullptr || t->state != State::Resident) return;
  const bool still_used = std::exchange(t->copied_in_use, out.in_use);
  const int node = node_named(out.node);
  if (t->keep && (t->node != (node < 0 ? nearest_ : node) || t->codec != out.codec)) forget_copy(*t);
  move_out(*t,
           {.sync = out.sync,
            .release = !out.on_demand && !out.in_use,
            .after_use = still_used,
            .node = node,
            .codec = out.codec,
            .sparsity = out.sparsity,
            .ratio = out.ratio,
            .action = out.action},
           issued);
  if (!out.in_use) t->keep = out.keep;
}

void TensorMemory::perform(const op::SwapIn& in, Time issued) {
  Tensor* t = tensor_starting_at(in.tensor);
  if (t == nullptr || t->state != State::Absent) return;
  retry_deferred(issued);
  const Incoming how{.sync = in.sync, .needed_by = launched_ + in.kernels_until_use, .action = in.action};
  if (!deferred_.empty() || !move_in(*t, how, {last_launch_}, issued)) deferred_.push_back({in.tensor, how});
}

void TensorMemory::perform(const op::Drop& drop) {
  Tensor* t = tensor_starting_at(drop.tensor);
  if (t == nullptr || t->state != State::Resident) return;
  std::vector<StreamPoint> after = std::exchange(t->waits, {});
  after.insert(after.end(), t->used.begin(), t->used.end());
  memory_->release(t->block, std::move(after), Sync::Stream);
  forget_copy(*t);
  t->state = State::Dropped;
  t->contents.lost = true;
  t->action = drop.action;
}

// The CPU works on what is in host memory, each operand of the action read and written once at most, as one fused
// operator does; storage is read and written meanwhile, next to what GPUs copy. What moves to the GPU later waits.
void TensorMemory::perform(const op::HostCompute& compute, Time issued) {
  std::vector<StreamPoint> after = {last_launch_};
  std::vector<std::pair<Tensor*, ContentsUse>> used;
  for (const op::Kernel& kernel : std::span(process_.program.host_kernels).subspan(compute.first, compute.count)) {
    for (Tensor* t : operands(kernel.operands)) {
      const ContentsUse use = use_of(*t, kernel.operands);
      if (t->state != State::Absent) stop_for(kernel, *t, "it is not in host memory");
      if (const std::string why = contents_.use(nullptr, use, t->contents); !why.empty()) stop_for(kernel, *t, why);
      after.push_back(t->copied);
      const auto known = std::ranges::find(used, t, &std::pair<Tensor*, ContentsUse>::first);
      if (known == used.end())
        used.emplace_back(t, use);
      else
        known->second.writes |= use.writes;
    }
  }
  const StreamPoint done = host_->push(host_work(used, compute.cores), issued, std::move(after));
  for (auto& [t, use] : used) t->copied = done;
}

HostComputeQueue::Work TensorMemory::host_work(std::span<const std::pair<Tensor*, ContentsUse>> used,
                                               int threads) const {
  const Machine& machine = process_.services.machine;
  std::int64_t bytes = 0;
  Duration read{}, written{};  // of storage
  for (const auto& [t, use] : used) {
    bytes += t->asked * ((use.reads ? 1 : 0) + (use.writes ? 1 : 0));
    const MemoryNode& node = machine.memories[static_cast<std::size_t>(t->node)];
    if (node.kind != "ssd") continue;
    if (use.reads) read += node.latency + transfer_time(Bytes{t->asked}, node.read);
    if (use.writes) written += node.latency + transfer_time(Bytes{t->asked}, node.write);
  }
  const double rate = static_cast<double>(machine.host.touch_bandwidth.value) * static_cast<double>(threads);
  return {
      .threads = threads, .cores = from_seconds(static_cast<double>(bytes) / rate), .storage = std::max(read, written)};
}

// --- tensors that stay, encoded

const Codec& TensorMemory::codec_named(std::int16_t name) {
  std::unique_ptr<Codec>& codec = codecs_[name];
  if (!codec) codec = codecs().find(process_.program.plan_names[static_cast<std::size_t>(name)])->make();
  return *codec;
}

// A kernel of the codec, on the stream of the kernel launched last.
StreamPoint TensorMemory::run_codec(const std::string& name, Duration duration, std::vector<StreamPoint> after) {
  const std::vector<std::string>& strings = process_.program.strings;
  const auto index = static_cast<std::int32_t>(std::ranges::find(strings, name) - strings.begin());
  for (const StreamPoint& point : after) wait_on(point, last_stream_);
  const Op& op = codec_kernels_.emplace_back(op::Kernel{.name = index,
                                                        .stream = last_stream_,
                                                        .device = device_,
                                                        .duration = duration,
                                                        .operands = {},
                                                        .grid = 0,
                                                        .block = 0,
                                                        .gap = {}});
  Signal& signal = signals_.of(last_stream_);
  push_(op, last_stream_, 0);
  push_(signal.record, last_stream_, 0);
  ++launched_;
  return signal.next();
}

void TensorMemory::perform(const op::Encode& encode, Time issued) {
  Tensor* t = tensor_starting_at(encode.tensor);
  if (t == nullptr || t->state != State::Resident) return;
  const Codec& codec = codec_named(encode.codec);
  const CodecTensor tensor{.bytes = Bytes{t->bytes}, .sparsity = encode.sparsity, .ratio = encode.ratio};
  const BytesPerSecond memory = gpu_.spec().memory_bandwidth;
  t->encoded = codec.encoded_bytes(tensor).value;
  std::vector<StreamPoint> after = std::exchange(t->waits, {});
  t->pinned = true;
  t->encoded_block = obtain(request(*t, t->encoded, signals_.of(last_stream_).event), after, issued);
  t->pinned = false;
  after.insert(after.end(), t->used.begin(), t->used.end());
  t->used = {run_codec("encode", codec.encode_time(tensor, memory), std::move(after))};
  t->back.codec = codec.decode_time(tensor, memory);
  t->state = State::Encoded;
  forget_copy(*t);
  memory_->release(t->block, t->used, Sync::Stream);
}

void TensorMemory::perform(const op::Decode& decode, Time issued) {
  Tensor* t = tensor_starting_at(decode.tensor);
  if (t != nullptr && t->state == State::Encoded) this->decode(*t, issued);
}

void TensorMemory::decode(Tensor& t, Time issued) {
  std::vector<StreamPoint> after = t.used;
  t.block = obtain(request(t, t.bytes, signals_.of(last_stream_).event), after, issued);
  t.used = {run_codec("decode", t.back.codec, std::move(after))};
  t.waits = t.used;
  t.state = State::Resident;
  memory_->release(t.encoded_block, t.used, Sync::Stream);
}

// What came is decoded where it is used first: kernels before that one need not wait for it.
void TensorMemory::decode_staged(Tensor& t) {
  t.used = {run_codec("decode", t.decode, std::exchange(t.waits, {}))};
  t.waits = t.used;
  t.staged = false;
  memory_->release(t.encoded_block, t.used, Sync::Stream);
}

void TensorMemory::join_layer() {
  if (layer_waits_.empty()) return;
  layer_waits_.push_back(last_launch_);
  for (const StreamPoint& point : std::exchange(layer_waits_, {})) host_waits(point);
}

void TensorMemory::settle(Time issued) { retry_deferred(issued); }

void TensorMemory::finish() { turns_->finish(); }

// --- transfers

void TensorMemory::move_out(Tensor& t, const Outgoing& how, Time issued) {
  const bool there = t.clean && t.keep;  // since an earlier move
  if (!t.clean) {
    std::vector<StreamPoint> after = t.waits;
    after.insert(after.end(), t.used.begin(), t.used.end());
    after.push_back(last_launch_);  // the moment on the GPU that the host has come to
    const CodecTensor tensor{.bytes = Bytes{t.bytes}, .sparsity = how.sparsity, .ratio = how.ratio};
    t.encoded = how.codec < 0 ? t.bytes : codec_named(how.codec).encoded_bytes(tensor).value;
    t.travels = t.bytes;
    const int node = node_with_room(how.node, t.encoded);
    SwapStream::Way way{.node = node};
    t.back = way;
    t.kept = {};
    t.by_kernels = false;
    Duration encode{};  // by the CPU
    if (how.codec >= 0) {
      const Codec& codec = codec_named(how.codec);
      const LinkModel link = link_model(process_.services.machine, gpu_.index(), node < 0 ? nearest_ : node);
      const bool on_cpu = codec.engine() == CodecEngine::Cpu;
      t.by_kernels = codec.engine() == CodecEngine::Sm;
      if (!on_cpu) t.travels = t.encoded;
      if (t.by_kernels) {
        const BytesPerSecond memory = gpu_.spec().memory_bandwidth;
        t.decode = codec.decode_time(tensor, memory);
        t.pinned = true;
        t.encoded_block = obtain(request(t, t.encoded, signals_.of(last_stream_).event), after, issued);
        t.pinned = false;
        t.used = {run_codec("encode", codec.encode_time(tensor, memory), std::move(after))};
        after = t.used;
      } else {
        (on_cpu ? encode : way.codec) = codec.encode_time(tensor, link.out);
        (on_cpu ? t.decode : t.back.codec) = codec.decode_time(tensor, link.in);
      }
    }
    hold_elsewhere(t, node < 0 ? nearest_ : node);
    t.codec = how.codec;
    t.copied = out_->push(Bytes{t.travels}, issued, std::move(after),
                          {.awaited = how.awaited || how.sync == Sync::Host, .action = how.action}, way);
    if (t.by_kernels) memory_->release(t.encoded_block, {t.copied}, Sync::Stream);
    if (encode > Duration{}) t.kept = host_->push(codec_work(encode), issued, {t.copied});
    t.clean = true;
  }
  t.action = how.action;
  if (how.release) {
    t.state = State::Absent;
    t.clean = false;
    std::vector<StreamPoint> over = std::exchange(t.waits, {});
    if (!there) over.clear();
    over.push_back(t.copied);
    if (there || how.after_use) over.insert(over.end(), t.used.begin(), t.used.end());
    memory_->release(t.block, std::move(over), there && t.copied.reached() ? Sync::Stream : how.sync);
  }
  if (how.sync == Sync::Host) host_waits(t.copied);
  if (how.sync == Sync::Layer) layer_waits_.push_back(t.copied);
}

bool TensorMemory::move_in(Tensor& t, const Incoming& how, std::vector<StreamPoint> after, Time issued) {
  std::vector<StreamPoint> waits;
  const bool stages = t.by_kernels && t.state == State::Absent;
  if (how.forced) {
    t.block = obtain(request(t, t.bytes, nullptr), waits, issued);
    if (stages) t.encoded_block = obtain(request(t, t.encoded, nullptr), waits, issued);
  } else {
    std::optional<DeviceBlock> block;
    while (!(block = room_for(t, waits))) {
      const bool may_wait = how.sync == Sync::Alloc || how.sync == Sync::Host;
      const auto point = may_wait ? memory_->to_wait_for(false) : std::nullopt;
      if (!point) return false;
      host_waits(*point);
    }
    t.block = *block;
  }
  const bool dropped = std::exchange(t.state, State::Resident) == State::Dropped;
  t.clean = t.keep;
  if (dropped) {
    t.waits = std::move(waits);
    return true;
  }
  after.insert(after.end(), waits.begin(), waits.end());
  after.push_back(t.copied);
  if (t.kept.event != nullptr) {
    after.push_back(t.kept);
    after = {host_->push(codec_work(t.decode), issued, std::move(after))};
  }
  if (!t.keep) release_elsewhere(t);
  const StreamPoint arrived = in_->push(
      Bytes{t.travels}, issued, std::move(after),
      {.awaited = how.forced || how.sync == Sync::Host, .kernel = how.needed_by, .action = how.action}, t.back);
  t.waits = {arrived};
  t.staged = stages;
  if (how.sync == Sync::Host) host_waits(arrived);
  if (how.sync == Sync::Layer) layer_waits_.push_back(arrived);
  return true;
}

std::optional<DeviceBlock> TensorMemory::room_for(Tensor& t, std::vector<StreamPoint>& waits) {
  std::optional<DeviceBlock> block = memory_->take(request(t, t.bytes, nullptr), waits);
  if (!block || !t.by_kernels || t.state != State::Absent) return block;
  if (const auto encoded = memory_->take(request(t, t.encoded, nullptr), waits)) {
    t.encoded_block = *encoded;
    return block;
  }
  memory_->release(*block, std::exchange(waits, {}), Sync::Stream);
  return std::nullopt;
}

void TensorMemory::retry_deferred(Time issued) {
  std::size_t done = 0;
  for (; done < deferred_.size(); ++done) {
    const Deferred& d = deferred_[done];
    Tensor* t = tensor_at(d.tensor);
    if (t != nullptr && t->state == State::Absent && !move_in(*t, d.in, {last_launch_}, issued)) break;
  }
  deferred_.erase(deferred_.begin(), deferred_.begin() + static_cast<std::ptrdiff_t>(done));
}

// --- memory

void TensorMemory::hold_elsewhere(Tensor& t, int node) {
  release_elsewhere(t);
  NodeMemory& nodes = process_.services.node_memory;
  if (!nodes.take(static_cast<std::size_t>(node), t.encoded)) {
    const NodeMemory::Node& full = nodes.nodes()[static_cast<std::size_t>(node)];
    process_.services.stop(Outcome::HostOutOfMemory, full.name + " has no room for a tensor of " +
                                                         std::to_string(t.encoded) + " bytes that GPU " +
                                                         std::to_string(gpu_.index().value) +
                                                         " moves out: " + std::to_string(full.used) + " of " +
                                                         std::to_string(full.capacity) + " bytes are in use");
  }
  t.node = node;
  t.held_elsewhere = t.encoded;
}

void TensorMemory::release_elsewhere(Tensor& t) {
  if (t.held_elsewhere == 0) return;
  process_.services.node_memory.give_back(static_cast<std::size_t>(t.node), std::exchange(t.held_elsewhere, 0));
}

void TensorMemory::forget_copy(Tensor& t) {
  t.clean = t.keep = false;
  release_elsewhere(t);
}

DeviceMemory::Request TensorMemory::request(const Tensor& tensor, std::int64_t bytes, const EventState* own) const {
  return {.bytes = bytes, .own = own, .kernels = departures_.next(tensor.address, program_kernels_)};
}

DeviceBlock TensorMemory::obtain(const DeviceMemory::Request& request, std::vector<StreamPoint>& waits, Time issued) {
  std::optional<DeviceBlock> block;
  for (bool any = false; !(block = memory_->take(request, waits));) {
    if (const auto point = memory_->to_wait_for(any)) {
      host_waits(*point);
    } else if (!reclaim(request.bytes, issued)) {
      if (any)
        process_.services.stop(Outcome::OutOfMemory, "GPU " + std::to_string(gpu_.index().value) + " has no room for " +
                                                         std::to_string(request.bytes) +
                                                         " bytes: everything else there is in use");
      any = true;
    }
  }
  return *block;
}

const ReclaimPolicy& TensorMemory::reclaim_policy() {
  std::unique_ptr<ReclaimPolicy>& policy = reclaim_policies_[rules_.reclaim];
  if (!policy) policy = uvmsim::reclaim_policies().find(rules_.reclaim)->make();
  return *policy;
}

// Where a tensor goes: to `wanted` (-1: the nearest host memory) or, when that is full, to a node that the plan uses
// too. Plans were checked to fit their nodes, but what is reclaimed on demand goes there as well.
int TensorMemory::node_with_room(int wanted, std::int64_t bytes) const {
  const auto has_room = [&](int node) {
    return process_.services.node_memory.has_room(static_cast<std::size_t>(node < 0 ? nearest_ : node), bytes);
  };
  if (has_room(wanted)) return wanted;
  const auto other = std::ranges::find_if(others_, has_room);
  return other == others_.end() ? wanted : *other;
}

// The memory nodes that plans name for tensors of this device, in the order in which they do.
std::vector<int> TensorMemory::planned_nodes() const {
  std::vector<int> nodes;
  std::set<std::int16_t> seen = {-1};
  for (const Op& op : process_.program.ops)
    if (const auto* out = std::get_if<op::SwapOut>(&op); out != nullptr && out->device == device_)
      if (seen.insert(out->node).second) nodes.push_back(node_named(out->node));
  return nodes;
}

// Copies tensors out that nothing needs now; the host waits for the copies, which wait for all work issued.
bool TensorMemory::reclaim(std::int64_t bytes, Time issued) {
  std::vector<Tensor*> idle;
  for (auto& [address, t] : tensors_)
    if (t.state == State::Resident && !t.pinned && !t.staged) idle.push_back(&t);
  std::ranges::stable_sort(idle, {}, &Tensor::idle_since);
  StreamPoint last;
  std::vector<IdleTensor> seen;
  for (const Tensor* t : idle) seen.push_back({.bytes = t->bytes, .ordinal = t->nth});
  for (const std::size_t n : reclaim_policy().choose(seen, bytes)) {
    Tensor& t = *idle[n];
    if (t.nth >= 0) reclaimed_.insert({t.nth, t.last_kernel});
    move_out(t, {.sync = Sync::Alloc, .awaited = true}, issued);
    last = t.copied;
  }
  host_waits(last);
  return last.event != nullptr;
}

void TensorMemory::host_waits(const StreamPoint& point) {
  if (point.reached()) return;
  const Time begin = now();
  gpu_.activity().raise(ActivityClock::Transfer, begin);
  point.wait();
  gpu_.activity().lower(ActivityClock::Transfer, now());
  process_.actions.waited(point.event->action_of(point.target), begin, now());
}

}  // namespace uvmsim
