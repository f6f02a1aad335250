// What is wrong with a machine although each of its values is right.
#include <gmock/gmock.h>

#include "support/machine_text.h"

namespace uvmsim {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

std::string a_link(const std::string& name, const std::string& from, const std::string& to,
                   const std::string& kind = "pcie") {
  return test::link_text(name, from, to, kind);
}
test::MachineRead read(int gpus, const std::vector<std::string>& links, const std::vector<std::string>& settings = {}) {
  return test::read_machine_of(gpus, links, settings);
}

TEST(ReadMachine, TakesAPathFromEveryGpuToAMemory) {
  EXPECT_THAT(read(2, {a_link("m", "memory0", "socket0"), a_link("s", "socket0", "switch0"),
                       a_link("a", "switch0", "gpu0"), a_link("b", "switch0", "gpu1")})
                  .errors,
              IsEmpty());
}

TEST(ReadMachine, RefusesAGpuThatOnlyNvlinkReaches) {
  EXPECT_THAT(
      read(2,
           {a_link("m", "memory0", "socket0"), a_link("a", "socket0", "gpu0"), a_link("n", "gpu0", "gpu1", "nvlink")})
          .errors,
      ElementsAre("/machine/links (x.json:1): no path of links joins gpu1 to memory0; only switches and sockets "
                  "forward, and NVLinks between GPUs lead to GPUs only"));
}

// Two sockets with no link between them, a GPU on each. Each misses the other's memory, and gpu0 misses gpu1.
TEST(ReadMachine, RefusesAMachineInTwoParts) {
  EXPECT_THAT(read(2, {a_link("m0", "memory0", "socket0"), a_link("m1", "memory1", "socket1"),
                       a_link("a", "socket0", "gpu0"), a_link("b", "socket1", "gpu1")})
                  .errors,
              ElementsAre("/machine/links (x.json:1): no path of links joins gpu0 to memory1, gpu1; only switches and "
                          "sockets forward, and NVLinks between GPUs lead to GPUs only",
                          "/machine/links (x.json:1): no path of links joins gpu1 to memory0; only switches and "
                          "sockets forward, and NVLinks between GPUs lead to GPUs only"));
}

// The only way from gpu1 to the memory leads through gpu0.
TEST(ReadMachine, RefusesPathsThroughGpus) {
  EXPECT_THAT(read(2, {a_link("m", "memory0", "gpu0"), a_link("a", "gpu0", "gpu1")}).errors,
              ElementsAre("/machine/links (x.json:1): no path of links joins gpu1 to memory0; only switches and "
                          "sockets forward, and NVLinks between GPUs lead to GPUs only"));
}

TEST(ReadMachine, RefusesAMachineWithoutHostMemory) {
  EXPECT_THAT(read(1, {a_link("a", "socket0", "gpu0")}).errors,
              ElementsAre("/machine/links (x.json:1): no path of links joins gpu0 to a memory; only switches and "
                          "sockets forward, and NVLinks between GPUs lead to GPUs only"));
}

TEST(ReadMachine, RefusesMoreGpusThanTheLinksConnect) {
  EXPECT_THAT(
      read(3, {a_link("m", "memory0", "socket0"), a_link("a", "socket0", "gpu0"), a_link("b", "socket0", "gpu1")})
          .errors,
      ElementsAre("/machine/gpus (x.json:1): 3 GPUs, but the machine's links connect 2"));
}

TEST(ReadMachine, RefusesNamesThatAreNoNodesOrNotUnique) {
  EXPECT_THAT(
      read(1, {a_link("m", "memory0", "gpu0"), a_link("m", "memory0", "gpux"), a_link("c", "switch0", "switch0")})
          .errors,
      ElementsAre("/machine/links (x.json:1): two links are named m",
                  "/machine/links (x.json:1): link m: \"gpux\" is no node; expected gpu0, switch0, socket0, "
                  "memory0, ...",
                  "/machine/links (x.json:1): link c ends where it starts"));
}

TEST(ReadMachine, RefusesMoreUsableMemoryThanThereIs) {
  EXPECT_THAT(read(1, {a_link("m", "memory0", "gpu0")}, {"gpu.usable_memory=13 GiB"}).errors,
              ElementsAre("/machine/gpu/usable_memory: more than the card's memory"));
}

// Switches may stand behind switches: without gpu1 nothing is behind switch1, and then nothing behind switch0.
TEST(ReadMachine, DropsSwitchesWithoutGpus) {
  const std::vector<std::string> links = {a_link("m", "memory0", "socket0"), a_link("a", "socket0", "gpu0"),
                                          a_link("s0", "socket0", "switch0"), a_link("s1", "switch0", "switch1"),
                                          a_link("b", "switch1", "gpu1")};
  EXPECT_EQ(read(2, links).machine.links.size(), 5u);
  EXPECT_EQ(read(1, links).machine.links.size(), 2u);
}

// Four GPUs, two to a switch. GPUs 0 and 2 of them are numbered 0 and 1, on uplinks of their own; 1 and 3 are gone.
TEST(ReadMachine, NumbersTheGpusAnewThatTheJobGets) {
  const std::vector<std::string> links = {a_link("m", "memory0", "socket0"),  a_link("u0", "socket0", "switch0"),
                                          a_link("u1", "socket0", "switch1"), a_link("a", "switch0", "gpu0"),
                                          a_link("b", "switch0", "gpu1"),     a_link("c", "switch1", "gpu2"),
                                          a_link("d", "switch1", "gpu3")};
  const test::MachineRead found = read(4, links, {"use=0+2"});
  EXPECT_THAT(found.errors, IsEmpty());
  ASSERT_EQ(found.machine.gpus.size(), 2u);
  std::vector<std::string> ends;
  for (const LinkSpec& l : found.machine.links) ends.push_back(l.name + " " + l.from + "-" + l.to);
  EXPECT_THAT(ends, ElementsAre("m memory0-socket0", "u0 socket0-switch0", "u1 socket0-switch1", "a switch0-gpu0",
                                "c switch1-gpu1"));
}

TEST(ReadMachine, RefusesGpusThatTheMachineHasNot) {
  const std::vector<std::string> links = {a_link("m", "memory0", "socket0"), a_link("a", "socket0", "gpu0"),
                                          a_link("b", "socket0", "gpu1")};
  for (const char* use : {"use=0+2", "use=0+0", "use=0,1", "use=0+", "use=-1"})
    EXPECT_EQ(read(2, links, {use}).errors.size(), 1u) << use;
}

}  // namespace
}  // namespace uvmsim
