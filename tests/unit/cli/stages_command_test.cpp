#include <gmock/gmock.h>
#include <nlohmann/json.hpp>
#include <sstream>

#include "cli/program.h"

namespace uvmsim {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::Not;

class StagesCommand : public testing::Test {
 protected:
  ExitCode ask(std::vector<std::string> arguments) {
    arguments.insert(arguments.begin(), "stages");
    std::ostringstream out, err;
    const ExitCode exit = run_program(arguments, out, err);
    out_ = out.str();
    err_ = err.str();
    return exit;
  }
  std::string out_, err_;
};

// Vectors of 1, 2 and 3 MiB floats: three arrays of that times four bytes.
TEST_F(StagesCommand, GivesEachGpuAValueOfItsOwn) {
  ASSERT_EQ(ask({"vector_add", "--set", "machine=v100_pcie_x4_dual_root", "--set", "workload.data_parallel=true",
                 "--set", "workload.allocator=none", "--set", "workload.memory=device", "--each",
                 "workload.elements=1048576,2097152,3145728,1048576", "--json"}),
            ExitCode::Done)
      << err_;
  const nlohmann::json stage = nlohmann::json::parse(out_)["stages"][0];
  EXPECT_THAT(stage["reserved_bytes"], ElementsAre(12 << 20, 24 << 20, 36 << 20, 12 << 20));
  EXPECT_EQ(stage["curve"].back()["pool_bytes"], 36 << 20) << "of the GPU with the most";
  EXPECT_TRUE(stage["out_of_memory_event"].is_null());
}

TEST_F(StagesCommand, SaysOfWhichStageEachErrorIs) {
  EXPECT_EQ(ask({"vector_ad", "vector_add*x", "vector_add", "--set", "workload.element=5"}), ExitCode::InputError);
  EXPECT_THAT(err_, HasSubstr("3 errors"));
  EXPECT_THAT(err_, HasSubstr("\n  vector_ad: "));
  EXPECT_THAT(err_, HasSubstr("did you mean \"vector_add\"?"));
  EXPECT_THAT(err_, HasSubstr("\n  vector_add*x: expected a whole number of 1 or more behind *"));
  EXPECT_THAT(err_, HasSubstr("\n  vector_add, /workload/element (--set): unknown key; did you mean \"elements\"?"));
}

TEST_F(StagesCommand, SaysWhatIsWrongWithEach) {
  EXPECT_EQ(ask({"vector_add", "--each", "workload.elements"}), ExitCode::InputError);
  EXPECT_THAT(err_, HasSubstr("--each: expected KEY=VALUE,VALUE,..., got \"workload.elements\""));
  EXPECT_EQ(ask({"vector_add", "--each", "workload.elements=1,2"}), ExitCode::InputError);
  EXPECT_THAT(err_, HasSubstr("vector_add, --each: has 2 values, and the machine 1 GPUs"));
  EXPECT_EQ(ask({"vector_add", "--each", "workload.elements=one"}), ExitCode::InputError);
  EXPECT_THAT(err_, HasSubstr("/workload/elements"));
  EXPECT_EQ(out_, "");
}

}  // namespace
}  // namespace uvmsim
