#include "cli/program.h"

#include <fstream>
#include <gmock/gmock.h>
#include <sstream>

#include "base/registry.h"
#include "study/config_keys.h"

namespace uvmsim {
namespace {

using testing::HasSubstr;
using testing::StartsWith;

struct Ran {
  ExitCode exit;
  std::string out, err;
};

Ran run(const std::vector<std::string>& arguments) {
  std::ostringstream out, err;
  const ExitCode exit = run_program(arguments, out, err);
  return {exit, out.str(), err.str()};
}

TEST(Program, HelpIsNoFault) {
  EXPECT_EQ(run({"--help"}).exit, ExitCode::Done);
  EXPECT_THAT(run({"--help"}).out, HasSubstr("explain"));
  EXPECT_EQ(run({"config", "--help"}).exit, ExitCode::Done);
  EXPECT_EQ(run({"--version"}).exit, ExitCode::Done);
  EXPECT_THAT(run({"--version"}).out, testing::MatchesRegex("uvmsim [0-9.]+\n"));
}

TEST(Program, AConfigurationAnywhereExtendsBundledFiles) {
  const std::string file = testing::TempDir() + "extends_bundled.json";
  std::ofstream(file) << R"({"machine": {"extends": "machines/v100_sxm2_16gb.json"},
                             "workload": {"generator": "vector_add", "allocator": "none", "memory": "managed"}})";
  const Ran o = run({"config", "show", file});
  EXPECT_EQ(o.exit, ExitCode::Done) << o.err;
  EXPECT_THAT(o.out, HasSubstr("V100-SXM2-16GB"));
}

TEST(Program, AnUnknownVerbIsTheUsersFaultAndGetsASuggestion) {
  const Ran o = run({"explian", "x"});
  EXPECT_EQ(o.exit, ExitCode::InputError);
  EXPECT_EQ(o.out, "");
  EXPECT_THAT(o.err, HasSubstr("uvmsim: unexpected: explian; did you mean explain?"));
}

TEST(Program, AnOptionThatIsAKeyIsToldHowToSetIt) {
  EXPECT_THAT(run({"run", "resnet50", "--gpus", "2"}).err,
              HasSubstr("unexpected: --gpus; did you mean --set machine.gpus=VALUE?"));
  EXPECT_THAT(run({"run", "resnet50", "--batch-size=64"}).err, HasSubstr("did you mean --set workload.batch=VALUE?"));
}

TEST(Program, AVerbOfAVerbIsFoundByItsName) {
  EXPECT_THAT(run({"import", "profile.json"}).err, HasSubstr("unexpected: import; did you mean trace import?"));
  EXPECT_THAT(run({"check"}).err, HasSubstr("unexpected: check; did you mean config check or trace check?"));
}

TEST(Program, AnUnknownOptionGetsASuggestion) {
  const Ran o = run({"config", "show", "v100_dgx1", "--jsno"});
  EXPECT_EQ(o.exit, ExitCode::InputError);
  EXPECT_THAT(o.err, HasSubstr("uvmsim: unexpected: --jsno; did you mean --json?"));
}

TEST(Program, ExplainSuggestsKeysThatHaveAPartOfTheWord) {
  EXPECT_THAT(run({"explain", "batch_size"}).err, HasSubstr("unknown key; did you mean workload.batch?"));
  EXPECT_THAT(run({"explain", "eviction"}).err,
              HasSubstr("did you mean driver.eviction_policy, driver.eviction_granularity, "));
  EXPECT_THAT(run({"explain", "eviction"}).err, HasSubstr(" more?"));
}

TEST(Program, NoVerbIsTheUsersFault) { EXPECT_EQ(run({}).exit, ExitCode::InputError); }

// A fit takes minutes: whether its results can be kept is known before.
TEST(Program, AFolderThatCannotBeMadeIsRefusedBeforeTheFit) {
  const std::string file = testing::TempDir() + "no_folder";
  std::ofstream(file) << "a file";
  const Ran o = run({"calibrate", "--joint", std::string(UVMSIM_SOURCE_DIR) + "/validation/joint_costs.json", "--cases",
                     "nowhere.json", "-o", file + "/costs"});
  EXPECT_EQ(o.exit, ExitCode::SetupImpossible);
  EXPECT_THAT(o.err, HasSubstr("no_folder/costs: cannot make this folder"));
}

// As standard output of a full disk.
TEST(Program, OutputThatCannotBeWrittenIsNoSuccess) {
  for (const std::vector<std::string>& arguments :
       {std::vector<std::string>{"list"}, {"--help"}, {"--version"}, {"config", "show", "vector_add_v100"}, {"man"}}) {
    std::ostringstream out, err;
    out.setstate(std::ios::badbit);
    EXPECT_EQ(run_program(arguments, out, err), ExitCode::SetupImpossible) << arguments.front();
    EXPECT_EQ(err.str(), "uvmsim: standard output cannot be written\n");
  }
}

TEST(Program, NamesThatATerminalWouldObeyAreShown) {
  EXPECT_EQ(run({"run", "no\x1b[31mfile"}).err, "uvmsim: no\\x1b[31mfile: no such file, configuration or generator\n");
  EXPECT_THAT(run({"list", "\x1b]0;title\x07"}).err, testing::Not(HasSubstr("\x1b")));
  EXPECT_THAT(run({"list", "--\x1b[2J"}).err, testing::Not(HasSubstr("\x1b")));
}

TEST(Explain, PrintsMeaningRangeAndDefault) {
  EXPECT_EQ(run({"explain", "driver.uvm_perf_prefetch_threshold"}).out,
            "driver.uvm_perf_prefetch_threshold\n"
            "  a subtree of a 2 MiB block is fetched whole once more than this share of it is resident or wanted\n"
            "  expected: a whole number, 0..100 %\n"
            "  range: 0..100 %\n"
            "  default: 51\n");
}

TEST(Explain, PrintsTheValueSourceAndStatusInEveryMachine) {
  const std::string out = run({"explain", "machine.gpu.driver_costs.batch"}).out;
  EXPECT_THAT(out, HasSubstr("\n    \"9.78 us\", fitted: uvmsim calibrate --joint, with titanv_batch_time"));
  EXPECT_THAT(out,
              HasSubstr("\n    \"6.78 us\", scaled: uvmsim calibrate --joint: common 9.32 us x its kind (server)"));
  EXPECT_THAT(out, HasSubstr("dgx1_p100_16gb, dgx1_v100_16gb, dgx1_v100_32gb, "));
}

TEST(Explain, NamesTheGeneratorsOfAParameter) {
  EXPECT_THAT(run({"explain", "workload.batch"}).out, HasSubstr("  parameter of: "));
}

TEST(Explain, KnowsEveryKey) {
  for (const ConfigKey& key : config_keys()) {
    const Ran o = run({"explain", key.key});
    EXPECT_EQ(o.exit, ExitCode::Done) << key.key;
    EXPECT_THAT(o.out, HasSubstr(key.field.doc)) << key.key;
  }
}

TEST(Explain, OfASectionListsItsKeys) {
  const Ran o = run({"explain", "machine.host.runtime"});
  EXPECT_EQ(o.exit, ExitCode::Done);
  EXPECT_THAT(o.out, HasSubstr("machine.host.runtime.malloc_peer\n"));
  EXPECT_THAT(run({"explain", "machine.links.3.up"}).out, StartsWith("machine.links.0.up\n"));
  EXPECT_THAT(run({"explain", "machine.memories"}).out, HasSubstr("machine.memories.0.capacity\n"));
}

TEST(Explain, SuggestsTheKeyMeant) {
  const Ran o = run({"explain", "driver.uvm_perf_prefetch_treshold"});
  EXPECT_EQ(o.exit, ExitCode::InputError);
  EXPECT_THAT(o.err, HasSubstr("did you mean driver.uvm_perf_prefetch_threshold?"));
  EXPECT_THAT(run({"explain", "prefetch_thresh"}).err, HasSubstr("did you mean driver.uvm_perf_prefetch_threshold?"));
  EXPECT_THAT(run({"explain", "lapse_usec"}).err, HasSubstr("did you mean driver.uvm_perf_thrashing_lapse_usec?"));
}

TEST(Explain, OfAPlugInListsItsParametersAlone) {
  const Ran o = run({"explain", "generator.stencil2d"});
  EXPECT_EQ(o.exit, ExitCode::Done) << o.err;
  EXPECT_THAT(o.out, StartsWith("generator.stencil2d\n  "));
  EXPECT_THAT(o.out, HasSubstr("  used by: workload.generator=stencil2d\n"));
  EXPECT_THAT(o.out, HasSubstr("\nworkload.rows\n  "));
  EXPECT_THAT(o.out, testing::Not(HasSubstr("workload.batch\n")));
  EXPECT_EQ(run({"explain", "stencil2d"}).out, o.out);
  // Of a section of its own.
  EXPECT_THAT(run({"explain", "allocator.torch_2"}).out, HasSubstr("expandable_segments\n  "));
  EXPECT_THAT(run({"explain", "generator.stencil3d"}).err, HasSubstr("did you mean \"stencil2d\"?"));
}

TEST(Explain, KnowsEveryPlugIn) {
  for (const PlugInKind* kind : kinds())
    for (const std::string& name : kind->names()) {
      const Ran o = run({"explain", std::string(kind->text().name) + "." + name});
      EXPECT_EQ(o.exit, ExitCode::Done) << kind->text().name << "." << name << o.err;
    }
}

TEST(Explain, KnowsTheWordsOfResults) {
  EXPECT_THAT(run({"explain", "slowdown"}).out, HasSubstr("the same program with plain cudaMalloc on GPUs"));
  EXPECT_THAT(run({"explain", "slowdown"}).out, HasSubstr("\nsummary.slowdown\n"));
  EXPECT_THAT(run({"explain", "in core"}).out, StartsWith("in core\n"));
  EXPECT_THAT(run({"explain", "Fault groups"}).out, HasSubstr("nvprof counts these"));
  EXPECT_EQ(run({"explain", "fault", "groups"}).out, run({"explain", "fault group"}).out);
  for (const char* heading :
       {"batches", "groups", "entries", "copies", "lost", "usable memory", "assumed", "cudaMalloc"})
    EXPECT_EQ(run({"explain", heading}).exit, ExitCode::Done) << heading;
  EXPECT_THAT(run({"explain", "fault_groups", "--json"}).out, HasSubstr("summary.totals.fault_groups"));
}

TEST(List, ShowsEveryKind) {
  const Ran o = run({"list"});
  EXPECT_EQ(o.exit, ExitCode::Done);
  for (const char* word : {"configs: ", "machines: ", "generator: ", "allocator: ", "prefetch: ", "eviction: ",
                           "v100_dgx1 ", "dgx1_p100_16gb ", "torch_1_0"})
    EXPECT_THAT(o.out, HasSubstr(word));
}

TEST(List, ItsHelpNamesEveryKind) {
  const std::string help = run({"list", "--help"}).out;
  for (const PlugInKind* kind : kinds()) EXPECT_THAT(help, HasSubstr(std::string(kind->text().name)));
}

TEST(List, ShowsOneKindAndRefusesOthers) {
  EXPECT_THAT(run({"list", "generators"}).out, StartsWith("generator: "));
  EXPECT_EQ(run({"list", "evictoin"}).exit, ExitCode::InputError);
  EXPECT_THAT(run({"list", "evictoin"}).err, HasSubstr("did you mean \"eviction\"?"));
}

TEST(ConfigShow, PrintsValueStatusOriginAndSource) {
  const Ran o = run({"config", "show", "v100_dgx1", "--set", "machine.gpus=1", "--set", "workload.batch=48"});
  EXPECT_EQ(o.exit, ExitCode::Done);
  EXPECT_THAT(o.out, HasSubstr("machine.gpus = 1  # --set\n"));
  EXPECT_THAT(o.out, HasSubstr("workload.batch = 48  # --set\n"));
  EXPECT_THAT(o.out, HasSubstr("driver.uvm_perf_fault_batch_count = 256  # default\n"));
  EXPECT_THAT(o.out, HasSubstr("machine.gpu.sms = 80  # datasheet, "));
}

TEST(ConfigShow, NamesTheNearestBundledConfiguration) {
  const Ran o = run({"config", "show", "configs/v100_dgx2.json"});
  EXPECT_EQ(o.exit, ExitCode::InputError);
  EXPECT_THAT(
      o.err,
      HasSubstr("configs/v100_dgx2.json: no such file, configuration or generator; did you mean \"v100_dgx1\"?"));
}

TEST(ConfigSchema, IsJson) { EXPECT_THAT(run({"config", "schema"}).out, StartsWith("{\n \"$schema\"")); }

}  // namespace
}  // namespace uvmsim
