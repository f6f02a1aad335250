#include "workload/repeat.h"

#include <gtest/gtest.h>

#include "base/user_error.h"
#include "support/generate.h"
#include "workload/trace_builder.h"

namespace uvmsim {
namespace {

// Iterations that allocate an output, use it, and free the output of the iteration before: `output` of an eager
// script. Ids: the first iteration's output is 1, the next ones' are 2, 3, ...
trace::Trace held_output(int iterations, std::int64_t last_bytes = 64) {
  TraceBuilder t{{}};
  for (int i = 0; i < iterations; ++i) {
    t.iteration(i);
    const bool last = i + 1 == iterations;
    const trace::TensorId output = t.allocate(Bytes{last ? last_bytes : 64}, TensorKind::Activation);
    t.kernel("forward", {}, {writes(output)});
    if (i > 0) t.free(output - 1);
  }
  return t.take();
}

std::vector<trace::TensorId> freed(const trace::Trace& t) {
  std::vector<trace::TensorId> ids;
  for (const trace::Free& f : records_of<trace::Free>(t)) ids.push_back(f.tensor);
  return ids;
}

// Two iterations repeated to five are the five that a longer run would have recorded, ids included.
TEST(RepeatLastIteration, EqualsALongerRun) {
  const trace::Trace repeated = repeat_last_iteration(held_output(2), 5);
  const trace::Trace longer = held_output(5);
  EXPECT_EQ(freed(repeated), (std::vector<trace::TensorId>{1, 2, 3, 4}));
  EXPECT_EQ(freed(repeated), freed(longer));
  EXPECT_EQ(repeated.accesses, longer.accesses);
  EXPECT_EQ(repeated.records.size(), longer.records.size());
  EXPECT_EQ(records_of<trace::Iteration>(repeated).back().index, 4);
}

TEST(RepeatLastIteration, CutsALongerTrace) {
  const trace::Trace cut = repeat_last_iteration(held_output(4), 2);
  EXPECT_EQ(cut.records.size(), held_output(2).records.size());
}

// 64 bytes are freed and 128 left behind: the next iteration could not be the same.
TEST(RepeatLastIteration, RefusesWhatIsNotPeriodic) {
  EXPECT_THROW(repeat_last_iteration(held_output(3, 128), 4), UserError);
  EXPECT_THROW(repeat_last_iteration(held_output(1), 2), UserError) << "leaves a tensor behind and frees none";
  TraceBuilder none{{}};
  none.allocate(Bytes{1}, TensorKind::Other);
  EXPECT_THROW(repeat_last_iteration(none.take(), 2), UserError) << "no iteration";
}

// What is allocated first is set-up; the iteration is the rest, until the GPU is done.
TEST(RepeatLastIteration, ATraceThatMarksNoneIsOneAsAWhole) {
  TraceBuilder t{{}};
  const trace::TensorId data = t.allocate(Bytes{64}, TensorKind::Other);
  t.kernel("k", {}, {writes(data)});
  const trace::Trace whole = repeat_last_iteration(t.take(), 1);
  ASSERT_EQ(whole.records.size(), 4u);
  EXPECT_TRUE(std::holds_alternative<trace::Iteration>(whole.records[1]));
  EXPECT_TRUE(std::holds_alternative<trace::Kernel>(whole.records[2]));
  EXPECT_TRUE(std::holds_alternative<trace::Synchronize>(whole.records[3]));
}

// The logits are held through the next forward pass; repeating iteration 2 gives what training longer gives.
TEST(RepeatLastIteration, RepeatsTraining) {
  const trace::Trace repeated = repeat_last_iteration(generate("resnet1001", R"({"batch": 1})", 3), 5);
  const trace::Trace longer = generate("resnet1001", R"({"batch": 1})", 5);
  EXPECT_EQ(freed(repeated), freed(longer));
  EXPECT_EQ(repeated.records.size(), longer.records.size());
  ASSERT_EQ(repeated.accesses.size(), longer.accesses.size());
  for (std::size_t i = 0; i < longer.accesses.size(); ++i)
    ASSERT_EQ(repeated.accesses[i].tensor, longer.accesses[i].tensor) << "access " << i;
}

}  // namespace
}  // namespace uvmsim
