#include "study/replay_script.h"

#include <gtest/gtest.h>
#include <sstream>

#include "base/user_error.h"

namespace uvmsim {
namespace {

std::string script_of(const Program& program) {
  std::ostringstream out;
  write_replay_script(program, {.allocator = "none"}, out);
  return out.str();
}

Program program_of(std::vector<Op> ops) {
  Program program;
  program.name = "p";
  program.host_op = nanoseconds(9000);
  program.operands = {{.address = kManagedBase + 4096, .bytes = 100, .mode = trace::Mode::ReadWrite, .passes = 2}};
  program.ops = std::move(ops);
  return program;
}

op::Kernel kernel() {
  return {.name = 0,
          .stream = 7,
          .device = DeviceOrdinal{},
          .duration = nanoseconds(1500),
          .operands = {0, 1},
          .grid = 0,
          .block = 0,
          .gap = nanoseconds(20)};
}

// kManagedBase is 0x7f0000000000 = 139637976727552.
TEST(ReplayScript, IsOneLineForEachOperation) {
  EXPECT_EQ(
      script_of(program_of(
          {op::MallocManaged{kManagedBase, 2097152}, op::Iteration{0},
           op::Prefetch{kManagedBase, 2097152, DeviceOrdinal{0}, 3}, op::Advise{kManagedBase, 4096, -2, std::nullopt},
           op::EventRecord{5, 3}, op::EventWait{5, 7}, kernel(), op::Discard{kManagedBase, 4096, 7, true},
           op::HostStep{nanoseconds(10), {0, 1}}, op::Synchronize{-1}, op::FreeManaged{kManagedBase}})),
      "uvmreplay 1\n"
      "name p\n"
      "placement none managed\n"
      "host_op 9000\n"
      "alloc 139637976727552 2097152 m\n"
      "iteration 0\n"
      "prefetch 139637976727552 2097152 0 3\n"
      "advise 139637976727552 4096 -2 -1\n"
      "record 5 3\n"
      "wait 5 7\n"
      "kernel 7 1500 20 1 139637976731648 100 3 2\n"
      "discard 139637976727552 4096 7 1\n"
      "host 10 1 139637976731648 100 3 2\n"
      "sync -1\n"
      "free 139637976727552\n");
}

TEST(ReplayScript, RefusesWhatOneGpuCannotDo) {
  op::Kernel elsewhere = kernel();
  elsewhere.device = DeviceOrdinal{1};
  EXPECT_THROW(script_of(program_of({elsewhere})), UserError);
  EXPECT_THROW(script_of(program_of({op::Collective{}})), UserError);
  EXPECT_THROW(script_of(program_of({op::HostStep{.duration = Duration{0}, .operands = {}, .thread = 1}})), UserError);
  Program stopped = program_of({});
  stopped.out_of_memory = true;
  EXPECT_THROW(script_of(stopped), UserError);
}

}  // namespace
}  // namespace uvmsim
