// Every registered generator keeps the contract of workload/generator.h; a new file is enrolled by existing.
#include <gtest/gtest.h>
#include <string>

#include "support/generate.h"
#include "trace/checker.h"

namespace uvmsim {
namespace {

class GeneratorContract : public testing::TestWithParam<std::string> {
 protected:
  static trace::Trace trace_of(int iterations) { return generators().find(GetParam())->make()->generate(iterations); }
};

TEST_P(GeneratorContract, DefaultsHaveNoContradiction) {
  EXPECT_TRUE(make_generator(GetParam())->contradictions().empty());
}

TEST_P(GeneratorContract, SameParametersGiveTheSameRecords) {
  const trace::Trace a = trace_of(2), b = trace_of(2);
  EXPECT_EQ(a.strings, b.strings);
  EXPECT_EQ(a.options, b.options);
  EXPECT_EQ(a.accesses, b.accesses);
  ASSERT_EQ(a.records.size(), b.records.size());
  for (std::size_t i = 0; i < a.records.size(); ++i) ASSERT_EQ(a.records[i].index(), b.records[i].index());
  const auto kernels_a = records_of<trace::Kernel>(a), kernels_b = records_of<trace::Kernel>(b);
  for (std::size_t i = 0; i < kernels_a.size(); ++i) ASSERT_EQ(kernels_a[i].duration_ns, kernels_b[i].duration_ns);
}

TEST_P(GeneratorContract, TracesAreValid) {
  const std::vector<Fault> faults = trace::check_trace(trace_of(2));
  for (const Fault& fault : faults) ADD_FAILURE() << fault.place << ": " << fault.message;
}

TEST_P(GeneratorContract, EveryIterationIsOpenedOnce) {
  const auto iterations = records_of<trace::Iteration>(trace_of(3));
  ASSERT_EQ(iterations.size(), 3u);
  for (std::size_t i = 0; i < 3; ++i) EXPECT_EQ(iterations[i].index, static_cast<std::int64_t>(i));
}

TEST_P(GeneratorContract, HeaderSaysWhereRecordsAndDurationsComeFrom) {
  const trace::Header header = trace_of(1).header;
  EXPECT_FALSE(header.generator.empty());
  EXPECT_FALSE(header.name.empty());
  EXPECT_FALSE(header.provenance.empty());
  EXPECT_FALSE(header.durations.empty());
  EXPECT_FALSE(header.sample_unit.empty());
  EXPECT_GT(header.samples, 0);
}

// A kernel or copy that does nothing is a slip of the generator.
TEST_P(GeneratorContract, KernelsTakeTimeAndTouchMemory) {
  const trace::Trace t = trace_of(2);
  for (const trace::Kernel& kernel : records_of<trace::Kernel>(t)) {
    ASSERT_GT(kernel.duration_ns, 0);
    ASSERT_GT(kernel.accesses.count, 0u);
  }
  for (const trace::Copy& copy : records_of<trace::Copy>(t)) ASSERT_GT(copy.bytes, 0);
}

INSTANTIATE_TEST_SUITE_P(All, GeneratorContract, testing::ValuesIn(generators().names()),
                         [](const auto& test) { return test.param; });

}  // namespace
}  // namespace uvmsim
