// The turns that a coordinator gives one GPU with its forward passes.
#pragma once

#include <functional>
#include <memory>
#include <string>

#include "engine/launch_signals.h"
#include "engine/swap_streams.h"
#include "plan/coordinator.h"

namespace uvmsim {

// Called by the host thread, in issue order.
class PlanTurns {
 public:
  // Appends an operation to a stream of the GPU.
  using Push = std::function<void(const Op& op, std::int32_t stream, std::int64_t target)>;

  // `copies_out`: the GPU's.
  PlanTurns(ProcessContext& process, GpuIndex gpu, LaunchSignals& signals, const SwapStreams& copies_out, Push push);

  void begin_iteration();
  void begin_phase(const std::string& name);
  // A kernel is about to be pushed; a collective. The forward pass begins where its first kernel does.
  void before_kernel(std::int32_t stream);
  void before_collective();
  void finish();  // nothing more will come

 private:
  void leave_forward();
  void reach(Moment moment, std::vector<StreamPoint> points);

  ProcessContext& process_;
  const GpuIndex gpu_;
  LaunchSignals& signals_;
  const SwapStreams& copies_out_;
  Push push_;
  std::unique_ptr<Signal> turn_;  // nullptr: this GPU takes none
  enum class State { None, Asked, Taken } state_ = State::None;
  bool forward_ = false;  // the phase
  std::int64_t iteration_ = -1;
};

}  // namespace uvmsim
