#include "engine/plan_turns.h"

#include "engine/coordination.h"

namespace uvmsim {

PlanTurns::PlanTurns(ProcessContext& process, GpuIndex gpu, LaunchSignals& signals, const SwapStreams& copies_out,
                     Push push)
    : process_(process), gpu_(gpu), signals_(signals), copies_out_(copies_out), push_(std::move(push)) {
  if (process.coordination == nullptr || !process.coordination->takes_turns(gpu)) return;
  turn_ = signals.make("a turn of process " + std::to_string(process.va_space) + " gpu" + std::to_string(gpu.value), 0,
                       EventState::Kind::Turn);
  process.coordination->add_gpu(gpu, *turn_->event);
}

void PlanTurns::begin_iteration() {
  leave_forward();
  ++iteration_;
  if (!turn_) return;
  state_ = State::Asked;
  ++turn_->event->recorded;
  process_.coordination->asked();
}

void PlanTurns::begin_phase(const std::string& name) {
  if (forward_ && name != "forward") leave_forward();
  forward_ = name == "forward";
}

void PlanTurns::before_kernel(std::int32_t stream) {
  if (state_ != State::Asked || !forward_) return;
  state_ = State::Taken;
  push_(turn_->wait, stream, turn_->event->recorded);
}

void PlanTurns::before_collective() {
  if (state_ == State::Taken) reach(Moment::MeetsPeers, signals_.launched());
}

// All of the forward pass is issued, if there was one.
void PlanTurns::leave_forward() {
  if (state_ == State::None) return;
  state_ = State::None;
  reach(Moment::ForwardDone, signals_.launched());
  reach(Moment::CopiesOutDone, copies_out_.issued());
}

void PlanTurns::finish() {
  if (!turn_) return;
  leave_forward();
  reach(Moment::Finished, signals_.launched());
}

void PlanTurns::reach(Moment moment, std::vector<StreamPoint> points) {
  process_.coordination->reach(gpu_, iteration_, moment, std::move(points));
}

}  // namespace uvmsim
