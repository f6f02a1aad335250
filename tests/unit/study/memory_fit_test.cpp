// Whether a workload fits, and its largest batch.
#include "study/memory_fit.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/quantity.h"
#include "support/simulated.h"

namespace uvmsim {
namespace {

using namespace testing_support;
using testing::HasSubstr;
using testing::ThrowsMessage;

std::string config(const std::string& workload, const std::string& gpu = "") {
  return R"({"machine": {"extends": "machines/v100_sxm2_32gb.json", "gpu": {)" + gpu +
         R"(}}, "driver": {"version": "418.40"}, "workload": {)" + workload + "}}";
}

const std::string kResNet = R"("generator": "resnet50", "dtype": "fp32", "batch": 32)";
const std::string kSmallGpu = R"("usable_memory": "2 GB")";

TEST(MemoryFit, FindsTheLargestBatch) {
  const MemoryFitReport report = fit_memory(experiment_of(config(kResNet, kSmallGpu)), {});
  const MemoryFit& found = report.fits.at(0);
  EXPECT_FALSE(found.fits);
  EXPECT_THAT(found.detail, HasSubstr("capacity 2 GB"));
  EXPECT_EQ(found.oversubscription, static_cast<double>(found.peak_reserved.value) / 2e9);
  ASSERT_TRUE(found.largest_batch);
  const auto fits = [](std::int64_t batch) {
    const Experiment e = experiment_of(config(kResNet, kSmallGpu), {"workload.batch=" + std::to_string(batch)});
    return !place(e.workload.parameters->generate(3),
                  {.memory = "device", .device_capacity = placement_of(e).device_capacity})
                .out_of_memory;
  };
  EXPECT_TRUE(fits(*found.largest_batch));
  EXPECT_FALSE(fits(*found.largest_batch + 1));
}

TEST(MemoryFit, LeavesTheExperimentAsItWas) {
  const Experiment e = experiment_of(config(kResNet, kSmallGpu));
  const std::vector<std::string> names = {"torch_1_0", "torch_2"};
  EXPECT_EQ(to_json(fit_memory(e, names)), to_json(fit_memory(e, names)));
}

// In steps of 10 MB; what is found fits, and 10 MB more do not.
TEST(MemoryFit, FindsTheLargestInputWhereThereIsNoBatch) {
  const std::string etl = R"("generator": "mortgage_etl", "part_bytes": "1 GB", "allocator": "none")";
  const MemoryFitReport report = fit_memory(experiment_of(config(etl, kSmallGpu)), {});
  ASSERT_EQ(report.fits.at(0).largest.size(), 2u);
  const MemoryFit::Largest& part = report.fits.at(0).largest.at(0);
  EXPECT_EQ(part.parameter, "part_bytes");
  EXPECT_EQ(part.given, "1 GB");
  const Bytes found = parse_bytes(part.largest).value_or(Bytes{});
  const auto fits = [&](Bytes size) {
    const Experiment e = experiment_of(config(etl, kSmallGpu), {"workload.part_bytes=" + to_text(size)});
    return fit_as_it_is(e).fits;
  };
  EXPECT_TRUE(fits(found));
  EXPECT_FALSE(fits(found + Bytes{10'000'000}));
  EXPECT_EQ(report.fits.at(0).largest.at(1).largest, "");  // not even one file of 1 GB
  EXPECT_THAT(to_text(report), HasSubstr("largest part_bytes that fits: " + part.largest + ", here 1 GB"));
}

TEST(MemoryFit, SaysSoWhereThereIsNoBatch) {
  const MemoryFitReport report = fit_memory(experiment_of(config(R"("generator": "vector_add")")), {});
  EXPECT_TRUE(report.fits.at(0).fits);
  EXPECT_FALSE(report.fits.at(0).batch);
  EXPECT_THAT(to_text(report), HasSubstr("no batch that could be varied"));
}

TEST(MemoryFit, RefusesUnknownAllocators) {
  const Experiment e = experiment_of(config(kResNet));
  EXPECT_THAT([&] { fit_memory(e, {"torch_3"}); },
              ThrowsMessage<UserError>(HasSubstr("no allocator is named \"torch_3\"; did you mean \"torch_2\"?")));
}

// --- the parameters of allocators in configs

std::string error_of(const std::string& workload) {
  try {
    experiment_of(config(workload));
  } catch (const UserError& error) {
    return error.what();
  }
  return "no fault";
}

TEST(AllocatorOptions, AreReadForTheirAllocator) {
  const std::string workload = R"("generator": "vector_add", "allocator": "torch_2", "memory": "device")";
  const Experiment e = experiment_of(config(workload), {"workload.allocator_options.expandable_segments=true"});
  const auto shown =
      std::ranges::find(e.resolved, "/workload/allocator_options/expandable_segments", &ResolvedValue::pointer);
  ASSERT_NE(shown, e.resolved.end());
  EXPECT_EQ(shown->json, "true");
  EXPECT_EQ(shown->origin, "--set");
}

TEST(AllocatorOptions, AreCheckedWithTheirPlace) {
  EXPECT_THAT(error_of(R"("generator": "vector_add", "allocator": "torch_2",
                          "allocator_options": {"expandable_segment": true})"),
              HasSubstr("test.json:2): unknown key; did you mean \"expandable_segments\"?"));
  EXPECT_THAT(error_of(R"("generator": "vector_add", "allocator": "none", "allocator_options": {"a": 1})"),
              HasSubstr("/workload/allocator_options/a"));
  EXPECT_THAT(error_of(R"("generator": "vector_add", "allocator": "torch_2",
                          "allocator_options": {"expandable_segments": true})"),
              HasSubstr("set workload.memory to \"device\""));
}

// Which options an unknown allocator has is not known: only its name is wrong.
TEST(AllocatorOptions, OfAnUnknownAllocatorAreNotJudged) {
  const std::string error =
      error_of(R"("generator": "vector_add", "allocator": "torch_3", "allocator_options": {"a": 1})");
  EXPECT_THAT(error, HasSubstr("1 error\n"));
  EXPECT_THAT(error, HasSubstr("did you mean \"torch_2\"?"));
}

}  // namespace
}  // namespace uvmsim
