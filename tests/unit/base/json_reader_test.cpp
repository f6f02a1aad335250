#include "base/json_reader.h"

#include <gmock/gmock.h>

namespace uvmsim {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

struct Hop {
  std::string kind;
  BytesPerSecond rate{};
};
struct Costs {
  Duration interrupt = microseconds(15);
};
struct Config {
  int threshold = 51;
  std::int64_t elements = 7;
  double share = 0.5;
  bool enable = true;
  std::string version = "595";
  Bytes memory{32LL << 30};
  Costs costs;
  std::vector<Hop> hops = {{"pcie", {5}}};
  std::vector<double> efficiency;
  std::vector<std::int64_t> sizes;
};

const Description& describe_config() {
  static const Description costs =
      Describe<Costs>("costs").duration("interrupt", &Costs::interrupt, "a time", {0, 1}).build();
  static const Description hop = Describe<Hop>("a hop")
                                     .text("kind", &Hop::kind, "what it is", {"pcie", "nvlink"})
                                     .bandwidth("rate", &Hop::rate, "how fast", {1, {}})
                                     .build();
  static const Description d = Describe<Config>("a config")
                                   .integer("threshold", &Config::threshold, "a share", {0, 100}, "%")
                                   .integer("elements", &Config::elements, "a count", {1, {}})
                                   .number("share", &Config::share, "a share", {{}, 1})
                                   .flag("enable", &Config::enable, "on or off")
                                   .text("version", &Config::version, "a version")
                                   .bytes("memory", &Config::memory, "a size", {2 << 20, {}})
                                   .section("costs", &Config::costs, costs, "costs")
                                   .sections("hops", &Config::hops, hop, "hops")
                                   .numbers("efficiency", &Config::efficiency, "shares", {0, 1})
                                   .integers("sizes", &Config::sizes, "sizes", {1, {}})
                                   .build();
  return d;
}

struct Result {
  Config config;
  std::vector<std::string> errors;
  ResolvedConfig resolved;
};

Result read(const std::string& text, const std::vector<std::string>& settings = {}) {
  Result r;
  std::vector<InputError> errors;
  JsonValue value = parse_json(text, "f", errors);
  for (const std::string& setting : settings) apply_setting(value, setting, errors);
  const DescribedObject part{&describe_config(), &r.config};
  read_described(&value, "", {&part, 1}, errors, r.resolved);
  for (const InputError& error : errors) r.errors.push_back(error.place + ": " + error.message);
  return r;
}

const ResolvedValue& leaf(const Result& r, const std::string& pointer) {
  for (const ResolvedValue& value : r.resolved)
    if (value.pointer == pointer) return value;
  throw std::out_of_range(pointer);
}

TEST(Reader, FillsEveryKindOfMember) {
  const Result r = read(R"({"threshold": 5, "elements": 9000000000, "share": 1, "enable": false, "version": "418.40",
    "memory": "16 GiB", "costs": {"interrupt": "3 us"}, "hops": [{"kind": "nvlink", "rate": "25 GB/s"}],
    "efficiency": [1, 0.9], "sizes": [4, 5]})");
  EXPECT_THAT(r.errors, IsEmpty());
  EXPECT_EQ(r.config.threshold, 5);
  EXPECT_EQ(r.config.elements, 9'000'000'000);
  EXPECT_EQ(r.config.share, 1);
  EXPECT_FALSE(r.config.enable);
  EXPECT_EQ(r.config.version, "418.40");
  EXPECT_EQ(r.config.memory, Bytes{16LL << 30});
  EXPECT_EQ(r.config.costs.interrupt, microseconds(3));
  ASSERT_EQ(r.config.hops.size(), 1u);  // the written list replaces the default one
  EXPECT_EQ(r.config.hops[0].rate, BytesPerSecond{25'000'000'000});
  EXPECT_THAT(r.config.efficiency, ElementsAre(1, 0.9));
  EXPECT_THAT(r.config.sizes, ElementsAre(4, 5));
}

TEST(Reader, KeepsDefaultsOfWhatIsNotWritten) {
  const Result r = read("{}");
  EXPECT_THAT(r.errors, IsEmpty());
  EXPECT_EQ(r.config.threshold, 51);
  EXPECT_EQ(leaf(r, "/threshold").json, "51");
  EXPECT_EQ(leaf(r, "/threshold").origin, "default");
  EXPECT_EQ(leaf(r, "/costs/interrupt").json, "\"15 us\"");
}

TEST(Reader, ReportsAllFaultsAtOnce) {
  EXPECT_THAT(
      read("{\"threshold\": 510,\n\"treshold\": 51,\n\"elements\": 1.5,\n\"memory\": 12,\n\"costs\": {\"interrupt\": "
           "\"3 "
           "parsecs\"},\n\"hops\": [{\"kind\": \"nvlinks\", \"rate\": \"0 B/s\"}],\n\"sizes\": [1, \"a\", "
           "0],\n\"enable\": 1}")
          .errors,
      testing::UnorderedElementsAre(
          "/treshold (f:2): unknown key; did you mean \"threshold\"?",  //
          "/threshold (f:1): 510 is outside 0..100 %", "/elements (f:3): expected a whole number, at least 1, got 1.5",
          "/memory (f:4): 12 has no unit; expected a size such as \"32 GiB\" (B, KB, KiB, MB, MiB, GB, GiB, TB, TiB)",
          "/costs/interrupt (f:5): expected a time such as \"45 us\" (ps, ns, us, ms, s, min), got \"3 parsecs\"",
          "/hops/0/kind (f:6): expected one of pcie, nvlink, got \"nvlinks\"; did you mean \"nvlink\"?",
          "/hops/0/rate (f:6): \"0 B/s\" is outside 1 B/s..1024 TiB/s",  //
          "/sizes/1 (f:7): expected a whole number, got \"a\"",          //
          "/sizes/2 (f:7): expected at least 1, got 0",                  //
          "/enable (f:8): expected true or false, got 1"));
}

TEST(Reader, AnObjectElsewhereIsAFault) {
  EXPECT_THAT(
      read(R"({"costs": 3, "hops": {}, "threshold": {}, "version": null})").errors,
      ElementsAre("/threshold (f:1): expected a whole number, 0..100 %, got an object",
                  "/version (f:1): null deletes an inherited key, and none is inherited; expected a text",
                  "/costs (f:1): expected an object, got 3", "/hops (f:1): expected a list of objects, got an object"));
}

// The default kind "" and rate 0 are not valid: they must be written.
TEST(Reader, ADefaultOutsideItsRangeMustBeWritten) {
  EXPECT_THAT(
      read(R"({"hops": [{}]})").errors,
      ElementsAre("/hops/0/kind (f:1): missing; expected one of pcie, nvlink",
                  "/hops/0/rate (f:1): missing; expected a bandwidth such as \"12 GB/s\" (B/s, KB/s, KiB/s, MB/s, "
                  "MiB/s, GB/s, GiB/s, TB/s, TiB/s)"));
}

TEST(Reader, IntegersThatDoNotFitAreOutside) {
  EXPECT_THAT(read(R"({"threshold": 4294967300})").errors,
              ElementsAre("/threshold (f:1): 4294967300 is outside 0..100 %"));
}

TEST(Annotated, LeavesKeepTheirStatusAndSource) {
  const Result r =
      read("{\"costs\": {\n\"interrupt\": {\"value\": \"4 us\", \"status\": \"fitted\", \"source\": \"a paper\"}}}");
  EXPECT_THAT(r.errors, IsEmpty());
  EXPECT_EQ(r.config.costs.interrupt, microseconds(4));
  EXPECT_EQ(leaf(r, "/costs/interrupt").status, "fitted");
  EXPECT_EQ(leaf(r, "/costs/interrupt").source, "a paper");
  EXPECT_EQ(leaf(r, "/costs/interrupt").origin, "f:2");
}

TEST(Annotated, IsAsStrictAsTheRest) {
  EXPECT_THAT(
      read(R"({"threshold": {"value": "x", "status": "guessed", "sauce": "y", "source": 1}})").errors,
      ElementsAre("/threshold/status (f:1): \"guessed\" is not one of datasheet, measured, fitted, scaled, assumed",
                  "/threshold/sauce (f:1): unknown key; an annotated value has value, status and source",
                  "/threshold/source (f:1): expected a text, got 1",
                  "/threshold (f:1): expected a whole number, 0..100 %, got \"x\""));
}

TEST(Setting, OfATextMayLookLikeANumber) {
  const Result r = read("{}", {"version=418.40"});
  EXPECT_THAT(r.errors, IsEmpty());
  EXPECT_EQ(r.config.version, "418.40");
  EXPECT_EQ(leaf(r, "/version").origin, "--set");
}

TEST(Setting, OfAnUnknownKeyIsRefusedWithASuggestion) {
  EXPECT_THAT(read("{}", {"costs.interupt=3 us"}).errors,
              ElementsAre("/costs/interupt (--set): unknown key; did you mean \"interrupt\"?"));
}

// What was resolved, written out and read again, is the same configuration with the same origins.
TEST(Resolved, ReadsBackAsItself) {
  const Result first = read(R"({"threshold": {"value": 5, "status": "measured", "source": "s"}, "share": 0.1,
    "hops": [{"kind": "pcie", "rate": "12.3 GB/s"}], "sizes": [3]})");
  const Result second = read(to_json(first.resolved, true));
  EXPECT_THAT(second.errors, IsEmpty());
  EXPECT_EQ(to_json(second.resolved, false), to_json(first.resolved, false));
  EXPECT_EQ(leaf(second, "/threshold").status, "measured");
  EXPECT_EQ(leaf(second, "/threshold").origin, "f:1");
}

}  // namespace
}  // namespace uvmsim
