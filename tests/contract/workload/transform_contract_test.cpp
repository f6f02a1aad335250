#include <gtest/gtest.h>

#include "base/user_error.h"
#include "support/generate.h"
#include "support/trace_text.h"
#include "trace/checker.h"
#include "workload/transform.h"

namespace uvmsim {
namespace {

class TransformContract : public testing::TestWithParam<std::string> {};

// With its default parameters a transform makes a valid trace, the same each time, or says that nothing is selected.
TEST_P(TransformContract, MakesAValidTraceTheSameEachTime) {
  const auto transform = transforms().find(GetParam())->make();
  for (const char* workload : {"vector_add", "alexnet"}) {
    const trace::Trace before = make_generator(workload)->generate(2);
    try {
      const trace::Trace after = transform->apply(before);
      EXPECT_TRUE(check_trace(after).empty()) << workload;
      EXPECT_EQ(trace::text_of(transform->apply(before)), trace::text_of(after)) << workload;
    } catch (const UserError&) {
    }
  }
}

INSTANTIATE_TEST_SUITE_P(All, TransformContract, testing::ValuesIn(transforms().names()),
                         [](const auto& transform) { return transform.param; });

}  // namespace
}  // namespace uvmsim
