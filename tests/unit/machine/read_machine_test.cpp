// What is wrong with a machine although each of its values is right.
#include <gmock/gmock.h>

#include "machine/description.h"
#include "support/read_file.h"

namespace uvmsim {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

std::string link(const std::string& name, const std::string& from, const std::string& to,
                 const std::string& kind = "pcie") {
  return R"({"kind": ")" + kind + R"(", "down": "1 GB/s", "up": "1 GB/s", "name": ")" + name + R"(", "from": ")" +
         from + R"(", "to": ")" + to + "\"}";
}

struct Read {
  Machine machine;
  std::vector<std::string> errors;
};

// A TITAN V machine with `gpus` GPUs and other links.
Read read(int gpus, const std::vector<std::string>& links, const std::vector<std::string>& settings = {}) {
  std::string list;
  for (const std::string& one : links) list += (list.empty() ? "" : ",") + one;
  const std::string text =
      R"({"extends": "titan_v.json", "gpus": )" + std::to_string(gpus) + R"(, "links": [)" + list + "]}";
  std::vector<InputError> errors;
  JsonValue document = load_json(
      "x.json",
      [&](const std::string& path) {
        return path == "x.json" ? std::optional(text) : test::read_file(UVMSIM_SOURCE_DIR "/configs/machines/" + path);
      },
      errors);
  for (const std::string& setting : settings) apply_setting(document, setting, errors);
  ResolvedConfig resolved;
  Read r;
  r.machine = read_machine(&document, "/machine", errors, resolved);
  for (const InputError& error : errors) r.errors.push_back(error.place + ": " + error.message);
  return r;
}

TEST(ReadMachine, TakesAPathFromEveryGpuToAMemory) {
  EXPECT_THAT(read(2, {link("m", "memory0", "socket0"), link("s", "socket0", "switch0"), link("a", "switch0", "gpu0"),
                       link("b", "switch0", "gpu1")})
                  .errors,
              IsEmpty());
}

TEST(ReadMachine, RefusesAGpuThatOnlyNvlinkReaches) {
  EXPECT_THAT(
      read(2, {link("m", "memory0", "socket0"), link("a", "socket0", "gpu0"), link("n", "gpu0", "gpu1", "nvlink")})
          .errors,
      ElementsAre("/machine/links (x.json:1): no path of pcie, socket and memory links joins gpu1 to a memory"));
}

TEST(ReadMachine, RefusesMoreGpusThanTheLinksConnect) {
  EXPECT_THAT(
      read(3, {link("m", "memory0", "socket0"), link("a", "socket0", "gpu0"), link("b", "socket0", "gpu1")}).errors,
      ElementsAre("/machine/gpus (x.json:1): 3 GPUs, but the machine's links connect 2"));
}

TEST(ReadMachine, RefusesNamesThatAreNoNodesOrNotUnique) {
  EXPECT_THAT(
      read(1, {link("m", "memory0", "gpu0"), link("m", "memory0", "gpux"), link("c", "switch0", "switch0")}).errors,
      ElementsAre("/machine/links (x.json:1): two links are named m",
                  "/machine/links (x.json:1): link m: \"gpux\" is no node; expected gpu0, switch0, socket0, "
                  "memory0, ...",
                  "/machine/links (x.json:1): link c ends where it starts"));
}

TEST(ReadMachine, RefusesMoreUsableMemoryThanThereIs) {
  EXPECT_THAT(read(1, {link("m", "memory0", "gpu0")}, {"gpu.usable_memory=13 GiB"}).errors,
              ElementsAre("/machine/gpu/usable_memory: more than the card's memory"));
}

// Switches may stand behind switches: without gpu1 nothing is behind switch1, and then nothing behind switch0.
TEST(ReadMachine, DropsSwitchesWithoutGpus) {
  const std::vector<std::string> links = {link("m", "memory0", "socket0"), link("a", "socket0", "gpu0"),
                                          link("s0", "socket0", "switch0"), link("s1", "switch0", "switch1"),
                                          link("b", "switch1", "gpu1")};
  EXPECT_EQ(read(2, links).machine.links.size(), 5u);
  EXPECT_EQ(read(1, links).machine.links.size(), 2u);
}

}  // namespace
}  // namespace uvmsim
