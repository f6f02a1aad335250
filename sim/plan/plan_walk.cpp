#include "plan/plan_walk.h"

#include <algorithm>
#include <utility>

#include "base/number_text.h"
#include "plan/codec.h"
#include "plan/dropped_again.h"
#include "plan/lower.h"

namespace uvmsim {

using Where = WalkedTensor::Where;

namespace {

bool needs(const TensorUse& use) { return use.reads || (use.writes && !use.overwrites); }

std::optional<std::size_t> leaves_after(const IterationGraph& graph, const Recompute& segment, std::int32_t tensor) {
  return leaves_after(segment, tensor, [&](std::int32_t kernel, std::int32_t t) {
    return std::ranges::find(graph.uses_of(kernel), t, &TensorUse::tensor) != graph.uses_of(kernel).end();
  });
}

// "31.48 GB, 15.28 GB more than the GPU has".
std::string too_many(std::int64_t bytes, std::int64_t capacity, const std::string& whose) {
  return bytes_text(bytes) + ", " + bytes_text(bytes - capacity) + " more than " + whose + " has";
}

}  // namespace

PlanWalk::PlanWalk(const IterationGraph& graph, const Plan& plan, const PlanLimits& limits, Report report)
    : graph_(graph),
      plan_(plan),
      limits_(limits),
      report_(std::move(report)),
      on_host_(kernels_on_host(plan)),
      never_here_(tensors_on_host(graph, on_host_)),
      tensors_(graph.tensors.size()) {
  sort_into_places();
  find_places_before();
  for (const KernelVariant& v : plan.variants) workspaces_[v.kernel] = workspace_of(graph, v);
  for (std::int32_t t = 0; t < graph.shape.held; ++t) {
    at(t).where = Where::Resident;
    held_ += bytes_of(t);
  }
}

// In the order of lower(): at a place what leaves the GPU, then what enters, then segments; each in the plan's order.
void PlanWalk::sort_into_places() {
  using Kind = Step::Kind;
  std::map<std::size_t, std::vector<Step>> leave, enter, segments;
  for (std::size_t n = 0; n < plan_.actions.size(); ++n) {
    const auto action = static_cast<std::int32_t>(n);
    if (const auto* m = std::get_if<Move>(&plan_.actions[n])) {
      const Kind out = m->release == Move::Release::Reclaim ? Kind::KeepOut : Kind::Out;
      leave[place_of(m->out.at)].push_back({copies_during_last_use(*m) ? Kind::CopyOut : out, m->of.tensor, action});
      if (copies_during_last_use(*m)) leave[place_of(m->out.at) + 1].push_back({out, m->of.tensor, action});
      if (m->in.at.on != Trigger::On::Access) enter[place_of(m->in.at)].push_back({Kind::In, m->of.tensor, action});
    } else if (const auto* d = std::get_if<Drop>(&plan_.actions[n])) {
      leave[place_of(d->at)].push_back({Kind::Drop, d->of.tensor, action});
    } else if (const auto* r = std::get_if<Recompute>(&plan_.actions[n])) {
      for (const TensorInterval& t : r->tensors)
        leave[2 * static_cast<std::size_t>(t.last_use) + 1].push_back({Kind::Drop, t.tensor, action});
      segments[2 * static_cast<std::size_t>(r->before)].push_back({Kind::Segment, -1, action});
      for (const std::int32_t t : dropped_again(*r))
        if (!leaves_after(graph_, *r, t))
          leave[2 * static_cast<std::size_t>(r->before) + 1].push_back({Kind::Drop, t, action});
    } else if (const auto* e = std::get_if<Encode>(&plan_.actions[n])) {
      leave[place_of(e->out)].push_back({Kind::Encode, e->of.tensor, action});
      if (e->in.on != Trigger::On::Access) enter[place_of(e->in)].push_back({Kind::Decode, e->of.tensor, action});
    } else if (const auto* h = std::get_if<HostCompute>(&plan_.actions[n])) {
      leave[place_of(h->at)].push_back({Kind::HostCompute, -1, action});
    }
  }
  for (auto* group : {&leave, &enter, &segments})
    for (auto& [place, steps] : *group) std::ranges::move(steps, std::back_inserter(places_[place]));
}

// In the order of lower(): what is done before a kernel with a segment is done before the allocations for it.
void PlanWalk::find_places_before() {
  std::set<std::int32_t> with_segment;
  for (const Action& action : plan_.actions)
    if (const auto* r = std::get_if<Recompute>(&action)) with_segment.insert(r->before);
  before_.assign(graph_.steps.size(), -1);
  for (std::size_t s = 0; s < graph_.steps.size(); ++s) {
    const auto [kind, index] = graph_.steps[s];
    if (kind != GraphStep::Kind::Kernel) continue;
    const std::int32_t early =
        with_segment.contains(index) ? graph_.kernels[static_cast<std::size_t>(index)].allocations : 0;
    before_[s - static_cast<std::size_t>(early)] = index;
  }
}

void PlanWalk::run() {
  using Kind = GraphStep::Kind;
  found_.assign(graph_.kernels.size(), {});
  peak_ = held_;
  for (std::size_t s = 0; s < graph_.steps.size(); ++s) {
    const GraphStep& step = graph_.steps[s];
    if (before_[s] >= 0) at_place(2 * static_cast<std::size_t>(before_[s]), false);
    if (step.kind == Kind::Allocate) allocate(step.index);
    if (step.kind == Kind::Free) free(step.index);
    if (step.kind == Kind::Copy) operate(graph_.uses_of(graph_.copies[static_cast<std::size_t>(step.index)].uses), -1);
    if (step.kind == Kind::Collective)
      operate(graph_.uses_of(graph_.collectives[static_cast<std::size_t>(step.index)].uses), -1);
    if (step.kind != Kind::Kernel) continue;
    const bool here = !on_host_.contains(step.index);
    const std::int64_t works_in = workspace(step.index);
    if (works_in > 0) take(works_in, "the workspace of " + kernel_text(step.index));
    if (here) operate(graph_.uses_of(step.index), step.index);
    at_place(2 * static_cast<std::size_t>(step.index) + 1, here);
    held_ -= works_in;
  }
}

bool PlanWalk::go_on() {
  std::vector<WalkedTensor> left;
  for (WalkedTensor& t : tensors_)
    if (t.where != Where::Nowhere) left.push_back(std::move(t));
  if (static_cast<std::int32_t>(left.size()) != graph_.shape.held) return false;
  left.resize(tensors_.size());
  tensors_ = std::move(left);
  return true;
}

// --- places

void PlanWalk::at_place(std::size_t place, bool settles) {
  const auto steps = places_.find(place);
  if (steps != places_.end())
    for (const Step& step : steps->second) {
      if (step.kind == Step::Kind::Segment && std::exchange(settles, false)) retry_deferred();
      perform(step);
      settles |= step.kind != Step::Kind::Segment;
    }
  if (settles) retry_deferred();
}

void PlanWalk::perform(const Step& step) {
  const Action& action = plan_.actions[static_cast<std::size_t>(step.action)];
  switch (step.kind) {
    case Step::Kind::Segment:
      return segment(std::get<Recompute>(action), step.action);
    case Step::Kind::HostCompute:
      return host_compute(std::get<HostCompute>(action), step.action);
    default:
      break;
  }
  WalkedTensor& t = at(step.tensor);
  if (step.kind == Step::Kind::Decode) {
    if (t.where == Where::Encoded) decode(t, step.tensor);
    return;
  }
  if (step.kind == Step::Kind::In) {
    if (t.where != Where::Elsewhere) return;
    retry_deferred();
    if (deferred_.empty() && fits(bytes_of(step.tensor) + staging(t)))
      move_in(t, step.tensor);
    else
      deferred_.push_back(step.tensor);
    return;
  }
  if (t.where == Where::Elsewhere && (step.kind == Step::Kind::Out || step.kind == Step::Kind::KeepOut))
    t.keep = std::get<Move>(action).keep;
  if (t.where != Where::Resident) return;
  if (step.kind == Step::Kind::Encode) return encode(t, step.tensor, std::get<Encode>(action));
  if (step.kind != Step::Kind::Drop) {
    const Move& move = std::get<Move>(action);
    t.copied_in_use = step.kind == Step::Kind::CopyOut;
    if (t.keep && (t.node != node_of(move) || t.codec != move.codec)) forget_copy(t);
    move_out(t, step.tensor, move, step.kind == Step::Kind::Out, step.action);
    if (!t.copied_in_use) t.keep = move.keep;
    return;
  }
  drop(step.tensor, step.action);
}

void PlanWalk::drop(std::int32_t tensor, std::int32_t action) {
  WalkedTensor& t = at(tensor);
  forget_copy(t);
  t.where = Where::Dropped;
  t.lost = true;
  t.blamed = action;
  held_ -= bytes_of(tensor);
}

// Kernels run again; what they use and is freed by now is borrowed from the first to the last of them that does. What
// is dropped again leaves after the last one, too, if kernel `before` does not use it.
void PlanWalk::segment(const Recompute& recompute, std::int32_t action) {
  std::map<std::int32_t, std::size_t> last;  // use of each borrowed tensor
  for (std::size_t n = 0; n < recompute.kernels.size(); ++n)
    for (const TensorUse& use : graph_.uses_of(recompute.kernels[n]))
      if (at(use.tensor).where == Where::Nowhere) last[use.tensor] = n;
  std::map<std::size_t, std::vector<std::int32_t>> leave;  // tensors, by kernel of the segment
  for (const std::int32_t t : dropped_again(recompute))
    if (const auto after = leaves_after(graph_, recompute, t); after && at(t).where != Where::Nowhere)
      leave[*after].push_back(t);
  for (std::size_t n = 0; n < recompute.kernels.size(); ++n) {
    const std::int32_t kernel = recompute.kernels[n];
    for (const TensorUse& use : graph_.uses_of(kernel)) {
      if (at(use.tensor).where != Where::Nowhere) continue;
      take(bytes_of(use.tensor), "tensor " + std::to_string(use.tensor) + ", for " + kernel_text(kernel) + " again");
      at(use.tensor) = {.where = Where::Resident, .lost = true, .blamed = action};
    }
    const std::int64_t works_in = workspace(kernel);
    if (works_in > 0) take(works_in, "the workspace of " + kernel_text(kernel) + " again");
    bring_in(graph_.uses_of(kernel), kernel);
    for (const TensorUse& use : graph_.uses_of(kernel)) use_again(use, kernel, action);
    held_ -= works_in;
    for (const auto& [tensor, until] : last)
      if (until == n) {
        held_ -= bytes_of(tensor);
        at(tensor) = {};
      }
    for (const std::int32_t t : leave[n])
      if (at(t).where == Where::Resident) drop(t, action);
    if (!leave[n].empty()) retry_deferred();
  }
}

void PlanWalk::host_compute(const HostCompute& compute, std::int32_t action) {
  for (const std::int32_t kernel : compute.kernels)
    for (const TensorUse& u : graph_.uses_of(kernel)) {
      if (never_here_.contains(u.tensor)) continue;
      if (at(u.tensor).where != Where::Elsewhere)
        report_(action, kernel_text(kernel) + " needs tensor " + std::to_string(u.tensor) +
                            ", which no move has brought to host memory");
      use(u, kernel);
    }
}

// --- the program

void PlanWalk::allocate(std::int32_t tensor) {
  if (never_here_.contains(tensor)) return;
  take(bytes_of(tensor), "tensor " + std::to_string(tensor));
  at(tensor) = {.where = Where::Resident};
}

void PlanWalk::free(std::int32_t tensor) {
  WalkedTensor& t = at(tensor);
  if (t.where == Where::Resident) held_ -= bytes_of(tensor);
  if (t.where == Where::Encoded) held_ -= t.encoded;
  held_ -= t.staged;
  release_elsewhere(t);
  std::erase(deferred_, tensor);
  t = {};
}

void PlanWalk::operate(std::span<const TensorUse> uses, std::int32_t kernel) {
  retry_deferred();
  bring_in(uses, kernel);
  for (const TensorUse& u : uses) {
    if (kernel >= 0) found_[static_cast<std::size_t>(kernel)].push_back(at(u.tensor).newest);
    use(u, kernel);
  }
}

void PlanWalk::bring_in(std::span<const TensorUse> uses, std::int32_t kernel) {
  std::int64_t operands = workspace(kernel);
  for (const TensorUse& use : uses) operands += bytes_of(use.tensor);
  if (!counts_every_byte() && operands > limits_.device && !std::exchange(over_, true))
    report_(-1, kernel_text(kernel) + " needs " + too_many(operands, limits_.device, "the GPU") +
                    ", at once: no plan can run it");
  for (const TensorUse& use : uses) {
    WalkedTensor& t = at(use.tensor);
    if (t.where == Where::Encoded) decode(t, use.tensor);
    if (t.where == Where::Elsewhere || t.where == Where::Dropped) {
      take(bytes_of(use.tensor), "tensor " + std::to_string(use.tensor) + ", for " + kernel_text(kernel));
      if (t.where == Where::Elsewhere) come_back(t, use.tensor);
      t.where = Where::Resident;
    }
    held_ -= std::exchange(t.staged, 0);
    if ((!t.copied_in_use && !t.keep) || use.writes) forget_copy(t);
  }
}

std::int64_t PlanWalk::workspace(std::int32_t kernel) const {
  const auto found = workspaces_.find(kernel);
  return found == workspaces_.end() ? 0 : found->second;
}

// A kernel finds the contents that the program has come to.
void PlanWalk::use(const TensorUse& u, std::int32_t kernel) {
  WalkedTensor& t = at(u.tensor);
  if (needs(u) && (t.lost || t.version != t.newest)) {
    const bool segment =
        t.blamed >= 0 && std::holds_alternative<Recompute>(plan_.actions[static_cast<std::size_t>(t.blamed)]);
    report_(t.blamed, kernel_text(kernel) + " needs the contents of tensor " + std::to_string(u.tensor) +
                          (segment ? ", which the segment does not make" : ", which are dropped"));
    t.lost = false;  // said once
    t.version = t.newest;
  }
  if (u.overwrites) t.lost = false;
  if (u.writes) t.version = ++t.newest;
}

// A kernel that runs again finds the contents that it found before, or what it made of them itself.
void PlanWalk::use_again(const TensorUse& u, std::int32_t kernel, std::int32_t action) {
  const std::vector<std::int64_t>& found = found_[static_cast<std::size_t>(kernel)];
  const std::string again = kernel_text(kernel) + " cannot run again: ";
  const std::string tensor = "tensor " + std::to_string(u.tensor);
  if (found.empty()) return report_(action, again + "it has not run yet");
  const std::span<const TensorUse> uses = graph_.uses_of(kernel);
  const std::int64_t before = found[static_cast<std::size_t>(&u - uses.data())];
  const std::int64_t after = before + (u.writes ? 1 : 0);
  WalkedTensor& t = at(u.tensor);
  if (needs(u) && t.lost)
    report_(action, again + "the contents of " + tensor + " are dropped");
  else if (needs(u) && t.version != before && t.version != after)
    report_(action, again + tensor + " has changed since its first run");
  else if (u.writes && !t.lost && t.version > after)
    report_(action, again + "others have written to " + tensor + " since");
  if (u.writes) t.version = after, t.lost = false;
}

// --- memory

void PlanWalk::move_out(WalkedTensor& t, std::int32_t tensor, const Move& move, bool release, std::int32_t action) {
  if (!t.clean) {
    release_elsewhere(t);
    const std::string& node = node_of(move);
    const std::int64_t bytes =
        encoded_bytes(move.codec, {.bytes = Bytes{bytes_of(tensor)}, .sparsity = move.sparsity, .ratio = move.ratio});
    const auto limit = limits_.nodes.find(node);
    const std::int64_t used = nodes_[node] += bytes;
    node_peaks_[node] = std::max(node_peaks_[node], used);
    if (limit != limits_.nodes.end() && used > limit->second)
      report_(action, "with tensor " + std::to_string(tensor) + " memory node " + node + " would hold " +
                          too_many(used, limit->second, "it"));
    t.node = node;
    t.codec = move.codec;
    t.held_elsewhere = bytes;
    t.clean = true;
    const std::int64_t encoded = staging(t);
    if (encoded > 0) take(encoded, "tensor " + std::to_string(tensor) + ", encoded");
    held_ -= encoded;
  }
  if (!release) return;
  t.where = Where::Elsewhere;
  t.clean = false;
  held_ -= bytes_of(tensor);
}

void PlanWalk::encode(WalkedTensor& t, std::int32_t tensor, const Encode& encode) {
  t.encoded = encoded_bytes(encode.codec,
                            {.bytes = Bytes{bytes_of(tensor)}, .sparsity = encode.sparsity, .ratio = encode.ratio});
  take(t.encoded, "tensor " + std::to_string(tensor) + ", encoded");
  held_ -= bytes_of(tensor);
  t.where = Where::Encoded;
  forget_copy(t);
}

void PlanWalk::decode(WalkedTensor& t, std::int32_t tensor) {
  take(bytes_of(tensor), "tensor " + std::to_string(tensor) + ", decoded");
  held_ -= t.encoded;
  t.where = Where::Resident;
}

void PlanWalk::move_in(WalkedTensor& t, std::int32_t tensor) {
  take(bytes_of(tensor), "tensor " + std::to_string(tensor));
  come_back(t, tensor);
}

std::int64_t PlanWalk::staging(const WalkedTensor& t) const {
  const bool kernels = !t.codec.empty() && codecs().find(t.codec)->make()->engine() == CodecEngine::Sm;
  return kernels ? t.held_elsewhere : 0;
}

void PlanWalk::come_back(WalkedTensor& t, std::int32_t tensor) {
  t.staged = staging(t);
  if (t.staged > 0) take(t.staged, "tensor " + std::to_string(tensor) + ", encoded");
  t.where = Where::Resident;
  t.clean = t.keep;
  if (!t.keep) release_elsewhere(t);
}

void PlanWalk::release_elsewhere(WalkedTensor& t) { nodes_[t.node] -= std::exchange(t.held_elsewhere, 0); }

void PlanWalk::forget_copy(WalkedTensor& t) {
  t.clean = t.keep = false;
  release_elsewhere(t);
}

void PlanWalk::retry_deferred() {
  std::size_t done = 0;
  for (; done < deferred_.size(); ++done) {
    WalkedTensor& t = at(deferred_[done]);
    if (t.where != Where::Elsewhere) continue;
    if (!fits(bytes_of(deferred_[done]) + staging(t))) break;
    move_in(t, deferred_[done]);
  }
  deferred_.erase(deferred_.begin(), deferred_.begin() + static_cast<std::ptrdiff_t>(done));
}

void PlanWalk::take(std::int64_t bytes, const std::string& for_what) {
  held_ += bytes;
  const bool over = counts_every_byte() ? held_ > limits_.device : bytes > limits_.device;
  if (over && !std::exchange(over_, true))
    report_(-1, counts_every_byte() ? "with " + for_what + " the GPU holds " + too_many(held_, limits_.device, "it")
                                    : for_what + " takes " + too_many(bytes, limits_.device, "the GPU") +
                                          ": no plan makes room for it");
  peak_ = std::max(peak_, held_);
}

std::string PlanWalk::kernel_text(std::int32_t kernel) const {
  return kernel < 0 ? "a copy or collective" : "kernel " + std::to_string(kernel) + " (" + graph_.name_of(kernel) + ")";
}

}  // namespace uvmsim
