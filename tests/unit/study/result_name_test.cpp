// Names in the metrics of validation cases.
#include "study/validation/result_name.h"

#include <gtest/gtest.h>

namespace uvmsim {
namespace {

TEST(ResultName, OfAMemoryIsTheMostOrTheMeanThatItHeld) {
  Result r;
  r.plan.memories = {{"gpu0", 7}, {"memory0", 3}};
  r.plan.means = {{"gpu0", 2.5}};
  EXPECT_EQ(std::get<double>(number_named(R"(peak["memory0"])", r)), 3);
  EXPECT_EQ(std::get<double>(number_named(R"(mean["gpu0"])", r)), 2.5);
  EXPECT_EQ(std::get<std::string>(number_named(R"(mean["memory0"])", r)),
            R"(no plan moved tensors of a memory "memory0")");
  EXPECT_EQ(error_of_name(R"(mean["gpu3"])"), "");
  EXPECT_EQ(error_of_name("mean"), R"(expected a memory by its name, such as mean["gpu0"])");
}

}  // namespace
}  // namespace uvmsim
