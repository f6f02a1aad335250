#include "plan/call_policy.h"

namespace uvmsim {
namespace {

class Scratch final : public CallPolicy {
 public:
  std::vector<InsertedCall> calls(const trace::Trace&, const CallSetting&) const override { return {}; }
};

const bool kRegistered =
    add_plug_in<CallPolicy, Scratch>({.name = "scratch", .summary = "an example", .source = "a test"});

}  // namespace
}  // namespace uvmsim
