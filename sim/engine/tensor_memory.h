// The tensors of one GPU under plans on explicit memory: which are there, where the others are, and whose bytes are
// whose. Operations of plans say what to move; what they leave open happens on demand: a kernel's operands are brought
// in at the latest when it is launched, and an allocation that finds too few bytes makes room.
#pragma once

#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <set>
#include <span>
#include <vector>

#include "engine/action_log.h"
#include "engine/departures.h"
#include "engine/device_memory.h"
#include "engine/host_compute.h"
#include "engine/launch_signals.h"
#include "engine/plan_turns.h"
#include "engine/swap_streams.h"
#include "engine/tensor_contents.h"
#include "plan/codec.h"
#include "plan/reclaim.h"

namespace uvmsim {

// Called by the host thread that launches the kernels, in issue order; may block it. Tensors are the program's
// cudaMalloc allocations, which move between device memory and memory nodes on two copy streams, as a framework's
// runtime would move them.
class TensorMemory {
 public:
  using Push = PlanTurns::Push;

  // `device`: the program's number of the GPU.
  TensorMemory(ProcessContext& process, DeviceOrdinal device, Push push);

  PlanTurns& turns() { return *turns_; }
  // Of the GPU, of what plans leave to tensors.
  const DeviceMemory& device_memory() const { return *memory_; }
  // Kernels, over the whole run.
  std::int64_t launched() const { return launched_; }
  // Bytes held when kernels are launched, each weighed by its duration.
  double mean_held() const { return weight_s_ > 0 ? held_byte_s_ / weight_s_ : 0; }

  // --- the program
  void begin_iteration();
  void allocate(const op::MallocDevice& call, Time issued);
  void free(const op::FreeDevice& call);
  // `op`, a kernel, copy or collective of this GPU with `span` on `stream`, is about to be pushed; has been pushed.
  void before(const Op& op, OperandSpan span, std::int32_t stream, Time issued);
  void after(const Op& op, OperandSpan span, std::int32_t stream, Time issued);

  // --- plans
  void perform(const op::UnderPlan& under);
  void perform(const op::SwapOut& out, Time issued);
  void perform(const op::SwapIn& in, Time issued);
  void perform(const op::Drop& drop);
  void perform(const op::Encode& encode, Time issued);
  void perform(const op::Decode& decode, Time issued);
  void perform(const op::HostCompute& compute, Time issued);
  void join_layer();
  // Kernel `op` is about to be pushed again; has been pushed again.
  void before_again(const Op& op, Time issued);
  void after_again(const Op& op);
  // All operations of a plan at one place are performed: what found no memory before may find it now.
  void settle(Time issued);
  void finish();  // nothing more will come

 private:
  enum class State { Resident, Absent, Dropped, Encoded };
  struct Tensor {
    VirtualAddress address = 0;
    std::int64_t bytes = 0, asked = 0;
    DeviceBlock block{};    // while Resident
    std::int32_t nth = -1;  // allocation that is live in this iteration
    State state = State::Resident;
    bool pinned = false;               // an operand of what is being issued
    bool copied_in_use = false;        // it is copied out while its last user, which only reads, runs
    bool clean = false;                // a copy out was issued and the contents did not change since
    bool keep = false;                 // that copy outlives the tensor's return: Move::keep
    std::int32_t last_kernel = -1;     // its last use in this iteration
    std::int64_t idle_since = 0;       // order of last uses
    std::vector<StreamPoint> used{};   // ends of the last uses, one of each stream
    StreamPoint copied{};              // end of the last copy out
    std::vector<StreamPoint> waits{};  // what its next user waits for
    // What that user has waited for and users on other streams than its own wait for, too.
    std::vector<StreamPoint> awaited{};
    std::int32_t awaited_on = -1;
    Contents contents{};
    std::int64_t encoded = 0;         // bytes that it takes where it is not Resident, by its codec
    std::int64_t travels = 0;         // bytes of a copy of it
    DeviceBlock encoded_block{};      // while Encoded or staged
    bool by_kernels = false;          // what it was moved out by encodes and decodes by kernels
    bool staged = false;              // it came, encoded, and is decoded before its next use
    std::int64_t held_elsewhere = 0;  // bytes of `node`
    int node = 0;                     // of Machine::memories, where it was moved last
    std::int16_t codec = -1;          // that it has there: Program::plan_names
    SwapStream::Way back{};           // from there
    StreamPoint kept{};               // the CPU has encoded it, where its codec is one of the CPU
    Duration decode{};                // by the CPU before a copy in, by a kernel after it
    std::int32_t action = -1;         // that moved it last
  };
  using Tensors = std::map<VirtualAddress, Tensor>;  // in the order of allocation: addresses ascend

  struct Outgoing {
    Sync sync = Sync::Stream;
    bool release = true;
    bool awaited = false;    // the program waits for it now
    bool after_use = false;  // the copy may be over before the last use is
    int node = -1;           // -1: the nearest host memory
    std::int16_t codec = -1;
    double sparsity = 0, ratio = 0;
    std::int32_t action = -1;
  };
  struct Incoming {
    Sync sync = Sync::Stream;
    bool forced = false;          // it has to come now; else only if there is room
    std::int64_t needed_by = -1;  // kernel of this GPU, counted from 0 over the whole run
    std::int32_t action = -1;
  };
  struct Deferred {
    VirtualAddress tensor = 0;
    Incoming in;
  };

  // The tensors of a span, each once; of the same span again until the next one is asked for.
  const std::vector<Tensor*>& operands(OperandSpan span);
  void forget_span() { span_ = {}, of_span_.clear(); }
  Tensor* tensor_at(VirtualAddress address);
  Tensor* tensor_starting_at(VirtualAddress address);
  void bring_in(OperandSpan span, std::int32_t stream, Time issued);
  void wait_for_arrival(Tensor& tensor, std::int32_t stream);
  static void note_use(Tensor& tensor, const StreamPoint& end);
  void note_early(const StreamPoint& point);
  void check_contents(const Op& op, OperandSpan span, bool again);
  ContentsUse use_of(const Tensor& tensor, OperandSpan span) const;
  // Of the CPU, with `threads`, on operands in host memory and storage.
  HostComputeQueue::Work host_work(std::span<const std::pair<Tensor*, ContentsUse>> used, int threads) const;
  // The run ends: `why` completes "uses a tensor, but".
  [[noreturn]] void stop_for(const Op& op, const Tensor& tensor, const std::string& why);
  [[noreturn]] void stop_for(const op::Kernel& kernel, const Tensor& tensor, const std::string& why);
  [[noreturn]] void stop(const std::string& user, const Tensor& tensor, const std::string& why);
  void speculate(const std::vector<Tensor*>& idle, Time issued);

  void move_out(Tensor& tensor, const Outgoing& how, Time issued);
  bool move_in(Tensor& tensor, const Incoming& how, std::vector<StreamPoint> after, Time issued);
  void retry_deferred(Time issued);
  int node_named(std::int16_t name) const;
  void wait_on(const StreamPoint& point, std::int32_t stream);
  void hold_elsewhere(Tensor& tensor, int node);
  void release_elsewhere(Tensor& tensor);
  // What was copied out is no longer the tensor's contents, or no longer of use.
  void forget_copy(Tensor& tensor);
  // Of `bytes` for `tensor`, first used on the stream of event `own`; nullptr: by a copy.
  DeviceMemory::Request request(const Tensor& tensor, std::int64_t bytes, const EventState* own) const;
  // What is asked for; makes room when there is none.
  DeviceBlock obtain(const DeviceMemory::Request& request, std::vector<StreamPoint>& waits, Time issued);
  bool reclaim(std::int64_t bytes, Time issued);
  int node_with_room(int wanted, std::int64_t bytes) const;
  std::vector<int> planned_nodes() const;
  void decode(Tensor& tensor, Time issued);
  void decode_staged(Tensor& tensor);
  // Room on the GPU for a tensor that comes, and for what comes of it; nullopt: there is none.
  std::optional<DeviceBlock> room_for(Tensor& tensor, std::vector<StreamPoint>& waits);
  StreamPoint run_codec(const std::string& name, Duration duration, std::vector<StreamPoint> after);
  const Codec& codec_named(std::int16_t name);
  const ReclaimPolicy& reclaim_policy();
  void host_waits(const StreamPoint& point);

  ProcessContext& process_;
  GpuDevice& gpu_;
  const DeviceOrdinal device_;
  Push push_;
  std::unique_ptr<DeviceMemory> memory_;
  const Departures departures_;
  LaunchSignals signals_;
  std::unique_ptr<SwapStreams> out_, in_;
  std::unique_ptr<HostComputeQueue> host_;
  std::unique_ptr<PlanTurns> turns_;
  ContentsLog contents_;
  double held_byte_s_ = 0, weight_s_ = 0;  // of mean_held
  StreamPoint last_launch_{};
  std::int32_t last_stream_ = 0;

  PlanRules rules_{};  // of this iteration
  bool in_iteration_ = false;
  std::int64_t launched_ = 0;                 // kernels, over the whole run
  std::int64_t program_kernels_ = 0;          // of these the program's own
  std::int32_t kernel_ = 0, allocation_ = 0;  // the next ones' numbers in the iteration
  Tensors tensors_;
  OperandSpan span_{};  // asked for last
  std::vector<Tensor*> of_span_;
  std::vector<Deferred> deferred_;  // moves in that found no memory
  std::vector<StreamPoint> layer_waits_;
  std::int64_t uses_ = 0;
  std::map<std::string, std::unique_ptr<ReclaimPolicy>> reclaim_policies_;
  std::map<std::int16_t, std::unique_ptr<Codec>> codecs_;
  std::deque<Op> codec_kernels_;
  const int nearest_;              // host memory
  const std::vector<int> others_;  // memory nodes that the plans move tensors to
  // (allocation, last use) of what was reclaimed in this iteration and the one before.
  std::set<std::pair<std::int32_t, std::int32_t>> reclaimed_, reclaimed_before_;
};

}  // namespace uvmsim
