#include "workload/transform.h"

namespace uvmsim {
namespace {

struct Scratch final : Transform {
  trace::Trace apply(trace::Trace trace) const override { return trace; }
};

const bool kRegistered =
    add_plug_in<Transform, Scratch>({.name = "scratch", .summary = "an example", .source = "a test"});

}  // namespace
}  // namespace uvmsim
