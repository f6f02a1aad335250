#include "workload/pipeline.h"

#include "workload/edit.h"
#include "workload/transform.h"

namespace uvmsim {
namespace {

struct PipelineOptions {
  int stages = 2, packs = 1, width = 1, micro_batches = 8;
  bool recompute = false;
  PipelineKind schedule = PipelineKind::Flush;

  static const Description& description() {
    using O = PipelineOptions;
    static const Description d =
        Describe<O>("pipeline: the layers in stages, one on each GPU")
            .integer("stages", &O::stages, "number of stages into which the layers are cut, by their time", {2, 64},
                     "stages")
            .integer("packs", &O::packs,
                     "packs of layers in each stage, dealt out in turns: GPU 0 gets the first pack, and the next one "
                     "after the last GPU's; all "
                     "micro-batches run through a pack before the next (Harmony; schedule gpipe)",
                     {1, 1024}, "packs")
            .integer("width", &O::width,
                     "such pipelines side by side, whose gradients are summed before each step: GPU r * stages + s has "
                     "stage s of pipeline r",
                     {1, 64}, "pipelines")
            .integer("micro_batches", &O::micro_batches,
                     "micro-batches in a batch: this many iterations of the workload become one, with one step of the "
                     "optimizer",
                     {1, 4096}, "micro-batches")
            .choice("schedule", &O::schedule,
                    "model_parallel: one micro-batch at a time; gpipe: all forward, then all backward; 1f1b: in turns; "
                    "pipedream_2bw: in turns across batches, with two versions of the weights",
                    {"model_parallel", "gpipe", "1f1b", "pipedream_2bw"})
            .flag("recompute", &O::recompute,
                  "activations of a stage are dropped once it has passed its output on, all but its input, and its "
                  "forward kernels run again before the backward ones")
            .build();
    return d;
  }
};

class Pipelined final : public With<Transform, PipelineOptions> {
 public:
  trace::Trace apply(trace::Trace trace) const override {
    trace::Trace staged = pipeline(trace, {.kind = options_.schedule,
                                           .stages = options_.stages,
                                           .packs = options_.packs,
                                           .width = options_.width,
                                           .micro_batches = options_.micro_batches,
                                           .recompute = options_.recompute});
    note_transform(staged, (options_.width > 1 ? std::to_string(options_.width) + " pipelines of " : "pipeline of ") +
                               std::to_string(options_.stages) + " stages");
    return staged;
  }
};

const bool kRegistered = add_plug_in<Transform, Pipelined>(
    {.name = "pipeline",
     .summary = "layers in stages on GPUs of their own, which pass micro-batches on",
     .source = "Huang et al., GPipe, NeurIPS 2019; Narayanan et al., PipeDream-2BW, ICML 2021; Li et al., Harmony, "
               "VLDB 2022: packs",
     .on_hardware = "torch.distributed.pipelining, DeepSpeed or Megatron-LM, and as many GPUs as stages"});

}  // namespace
}  // namespace uvmsim
