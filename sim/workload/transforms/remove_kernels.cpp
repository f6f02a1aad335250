#include "base/user_error.h"
#include "workload/edit.h"
#include "workload/transform.h"

namespace uvmsim {
namespace {

// Their launches go, too; tensors stay.
class RemoveKernels final : public With<Transform, KernelSelection> {
 public:
  trace::Trace apply(trace::Trace trace) const override {
    options_.require("remove_kernels");
    std::vector<std::size_t> records;
    for (const KernelPlace& k : select(trace, [this](const KernelPlace& p) { return options_.takes(p); }))
      records.push_back(k.record);
    if (records.empty()) throw UserError(trace.header.name, "remove_kernels selects nothing: no kernel has such names");
    remove(trace, std::move(records));
    note_transform(trace, "kernels removed");
    return trace;
  }
};

const bool kRegistered =
    add_plug_in<Transform, RemoveKernels>({.name = "remove_kernels",
                                           .summary = "the program without the kernels of these names",
                                           .source = "Zhu et al., Daydream, ATC 2020, section 4.3: select and remove",
                                           .on_hardware = "another program"});

}  // namespace
}  // namespace uvmsim
