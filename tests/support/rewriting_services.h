// Services that know the program: its batches in parts, its kernels in another order.
#pragma once

#include <string>
#include <vector>

#include "plan/rewrite.h"
#include "support/layer_chain.h"

namespace uvmsim {

class RewritingServices : public NoServices {
 public:
  // Of a trace of one shape of iteration, which outlives the services.
  explicit RewritingServices(const trace::Trace& trace) : trace_(trace) {}

  std::optional<Profile> rewritten(const Profile& profile, int sub_batches, const std::vector<std::int32_t>& order,
                                   std::string&) override {
    const Plan whole{.sub_batches = sub_batches};
    trace::Trace program = uvmsim::rewritten(trace_, {&whole, 1}, nullptr);
    const IterationShape shape = iterations_of(program, DeviceOrdinal{}).back().shape;
    if (!order.empty()) program = with_order(program, shape, order, "");
    return profile_of(shapes_of(program, DeviceOrdinal{}).back(), profile.gpu,
                      {.launch = {}, .links = profile.links, .budget = profile.budget});
  }

 private:
  const trace::Trace& trace_;
};

}  // namespace uvmsim
