#include <deque>
#include <filesystem>
#include <fstream>
#include <gmock/gmock.h>
#include <map>
#include <new>
#include <nlohmann/json.hpp>
#include <signal.h>
#include <sstream>
#include <unistd.h>
#include <utility>

#include "base/user_error.h"
#include "study/sweep/peers.h"
#include "study/sweep/run_sweep.h"
#include "study/sweep/sweep_diff.h"
#include "study/sweep/sweep_text.h"

namespace uvmsim {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
namespace fs = std::filesystem;
using namespace std::chrono_literals;

std::string report(double duration_s) {
  return R"({"outcome":"completed","detail":"","summary":{"duration_s":)" + std::to_string(duration_s) +
         R"(,"throughput":{"value":2.0,"unit":"samples/s"},"totals":{"h2d_bytes":7},"gpus":[{}]},"links":[]})";
}

PointOutcome completed(std::size_t point, double duration_s = 1) {
  PointOutcome outcome;
  outcome.point = point;
  outcome.outcome = "completed";
  outcome.report = report(duration_s);
  outcome.worker = "test";
  return outcome;
}

PointOutcome failed(std::size_t point) {
  PointOutcome outcome;
  outcome.point = point;
  outcome.outcome = "failed";
  outcome.error = "broken, \"really\"";
  return outcome;
}

// Simulates nothing: a point's outcome is known when it starts, and comes with the next wait().
class FakeWorkers final : public PointWorkers {
 public:
  explicit FakeWorkers(std::size_t count = 2, std::set<std::size_t> fail = {})
      : count_(count), fail_(std::move(fail)) {}
  std::size_t free() const override { return count_ - running_.size(); }
  std::size_t running() const override { return running_.size(); }
  void start(std::size_t point) override {
    running_.push_back(point);
    started.push_back(point);
  }
  std::vector<PointOutcome> wait(std::chrono::milliseconds) override {
    std::vector<PointOutcome> ended;
    if (running_.empty()) return ended;
    ended.push_back(fail_.contains(running_.front()) ? failed(running_.front()) : completed(running_.front()));
    running_.pop_front();
    return ended;
  }

  std::vector<std::size_t> started;

 private:
  std::size_t count_;
  std::set<std::size_t> fail_;
  std::deque<std::size_t> running_;
};

class SweepRunTest : public testing::Test {
 protected:
  ~SweepRunTest() override { fs::remove_all(folder_); }

  std::string folder(const std::string& name) const { return folder_ + "/" + name; }
  SweepProgress run(SweepStore& store, PointWorkers& workers, Shard shard = {}) const {
    const std::vector<std::size_t> points = points_of(plan_, shard);
    store.add(plan_, points);
    return run_sweep(plan_, points, store, workers, {.stopped = [] { return false; }});
  }

  std::string folder_ = testing::TempDir() + "sweep_run_" + std::to_string(getpid());
  SweepPlan plan_{SweepSources{.config = UVMSIM_SOURCE_DIR "/configs/vector_add_v100.json",
                               .settings = {},
                               .axes = {"run.warmup=range(0,4)", "run.iterations=2,4"},
                               .configs_folder = UVMSIM_SOURCE_DIR "/configs"}};
};

TEST_F(SweepRunTest, SimulatesEachPointOnceAndSkipsThemAfterwards) {
  FakeWorkers workers;
  {
    SweepStore store(folder("a"), SweepStore::Open::Create);
    EXPECT_FALSE(store.has_results());
    EXPECT_EQ(run(store, workers).done, 10u);
    EXPECT_TRUE(store.has_results());
  }
  EXPECT_THAT(workers.started, ElementsAre(0, 1, 2, 3, 4, 5, 6, 7, 8, 9));
  SweepStore store(folder("a"), SweepStore::Open::Create);
  const SweepProgress again = run(store, workers);
  EXPECT_EQ(again.skipped, 10u);
  EXPECT_EQ(workers.started.size(), 10u);
}

TEST_F(SweepRunTest, FailuresAreKeptAndTriedAgainByTheNextSweep) {
  FakeWorkers workers(2, {3, 7});
  {
    SweepStore store(folder("a"), SweepStore::Open::Create);
    EXPECT_EQ(run(store, workers).failed, 2u);
    std::ostringstream csv;
    write_csv(store, csv);
    EXPECT_THAT(csv.str(), HasSubstr(",failed,\"broken, \"\"really\"\"\","));
  }
  FakeWorkers repaired;
  SweepStore store(folder("a"), SweepStore::Open::Create);
  EXPECT_EQ(run(store, repaired).failed, 0u);
  EXPECT_THAT(repaired.started, ElementsAre(3, 7));
}

TEST_F(SweepRunTest, StopsWhenAskedAndGivesPointsBack) {
  SweepStore store(folder("a"), SweepStore::Open::Create);
  FakeWorkers workers;
  const std::vector<std::size_t> points = points_of(plan_, {});
  store.add(plan_, points);
  const SweepProgress end =
      run_sweep(plan_, points, store, workers, {.stopped = [&] { return workers.started.size() >= 4; }});
  EXPECT_TRUE(end.interrupted);
  EXPECT_LT(end.done, 5u);
  SweepStore other(folder("a"), SweepStore::Open::Create);
  FakeWorkers others;
  EXPECT_EQ(run(other, others).done, 10u);
  EXPECT_EQ(others.started.size(), 10 - end.done);
}

// What one store has claimed the other leaves alone, until the first is gone.
TEST_F(SweepRunTest, APointHasOneOwner) {
  auto first = std::make_unique<SweepStore>(folder("a"), SweepStore::Open::Create);
  SweepStore second(folder("a"), SweepStore::Open::Create);
  const std::string hash = plan_.points()[0].hash;
  EXPECT_EQ(first->claim(hash), SweepStore::Claim::Mine);
  EXPECT_EQ(second.claim(hash), SweepStore::Claim::Others);
  first.reset();
  EXPECT_EQ(second.claim(hash), SweepStore::Claim::Mine);
  second.keep(hash, completed(0));
  EXPECT_EQ(second.claim(hash), SweepStore::Claim::Done);
}

TEST_F(SweepRunTest, ShardsTakeEveryNthPointAndMergeIntoTheWhole) {
  EXPECT_THAT(points_of(plan_, {1, 4}), ElementsAre(1, 5, 9));
  for (int index = 0; index < 3; ++index) {
    SweepStore shard(folder("shard" + std::to_string(index)), SweepStore::Open::Create);
    FakeWorkers workers;
    run(shard, workers, {index, 3});
  }
  SweepStore whole(folder("whole"), SweepStore::Open::Create);
  EXPECT_EQ(whole.merge(folder("shard0")), 4);
  EXPECT_EQ(whole.merge(folder("shard1")), 3);
  EXPECT_EQ(whole.merge(folder("shard2")), 3);
  EXPECT_EQ(whole.merge(folder("shard2")), 0);

  SweepStore direct(folder("direct"), SweepStore::Open::Create);
  FakeWorkers workers;
  run(direct, workers);
  std::ostringstream merged, at_once;
  write_csv(whole, merged);
  write_csv(direct, at_once);
  EXPECT_EQ(merged.str(), at_once.str());
  EXPECT_EQ(diff_sweeps(whole, direct).same, 10u);
}

TEST_F(SweepRunTest, ShardsComeFromTheCommandLineOrFromSlurm) {
  EXPECT_EQ(parse_shard("3/16")->index, 2);
  EXPECT_EQ(parse_shard("3/16")->count, 16);
  for (const char* wrong : {"0/4", "5/4", "4", "a/b", "1/", "-1/2", "1/2x"}) EXPECT_FALSE(parse_shard(wrong)) << wrong;
  std::map<std::string, const char*> variables = {{"SLURM_ARRAY_TASK_ID", "14"},
                                                  {"SLURM_ARRAY_TASK_COUNT", "3"},
                                                  {"SLURM_ARRAY_TASK_MIN", "10"},
                                                  {"SLURM_ARRAY_TASK_STEP", "2"}};
  const auto environment = [&](const char* name) { return variables.contains(name) ? variables[name] : nullptr; };
  EXPECT_EQ(slurm_shard(environment)->index, 2);  // --array=10-14:2 has tasks 10, 12, 14
  EXPECT_EQ(slurm_shard(environment)->count, 3);
  for (const auto& [name, wrong] : {std::pair("SLURM_ARRAY_TASK_ID", "x"),
                                    {"SLURM_ARRAY_TASK_ID", "99"},
                                    {"SLURM_ARRAY_TASK_COUNT", ""},
                                    {"SLURM_ARRAY_TASK_STEP", "0"}}) {
    const char* const right = std::exchange(variables[name], wrong);
    EXPECT_THROW(slurm_shard(environment), UserError) << name << "=" << wrong;
    variables[name] = right;
  }
  variables.erase("SLURM_ARRAY_TASK_COUNT");
  EXPECT_THROW(slurm_shard(environment), UserError);
  variables.clear();
  EXPECT_FALSE(slurm_shard(environment));
}

// As somebody who may only read: whoever may do everything steps down for it.
TEST_F(SweepRunTest, IsReadWhereNothingCanBeWritten) {
  {
    SweepStore store(folder("a"), SweepStore::Open::Create);
    store.add(plan_, points_of(plan_, {}));
    store.keep(plan_.points()[1].hash, completed(1));
  }
  constexpr fs::perms kWrite = fs::perms::owner_write | fs::perms::group_write | fs::perms::others_write;
  fs::permissions(folder("a"), kWrite, fs::perm_options::remove);
  const uid_t self = geteuid();
  constexpr uid_t kNobody = 65534;
  if (self == 0) {
    ASSERT_EQ(seteuid(kNobody), 0);
  }
  std::ostringstream csv;
  write_csv(SweepStore(folder("a"), SweepStore::Open::Existing), csv);
  if (self == 0) {
    ASSERT_EQ(seteuid(self), 0);
  }
  fs::permissions(folder("a"), fs::perms::owner_write, fs::perm_options::add);
  EXPECT_THAT(csv.str(), HasSubstr(",completed,"));
  EXPECT_EQ(std::distance(fs::directory_iterator(folder("a")), {}), 1);
}

TEST_F(SweepRunTest, RefusesFoldersThatAreNoSweep) {
  EXPECT_THROW(SweepStore(folder("nowhere"), SweepStore::Open::Existing), UserError);
  fs::create_directories(folder("text"));
  std::ofstream(folder("text") + "/sweep.sqlite") << std::string(5000, 'x');
  EXPECT_THROW(SweepStore(folder("text"), SweepStore::Open::Create), UserError);
}

TEST_F(SweepRunTest, CsvHasAColumnForEachKeyAndNumber) {
  SweepStore store(folder("a"), SweepStore::Open::Create);
  store.add(plan_, points_of(plan_, {}));
  store.keep(plan_.points()[1].hash, completed(1, 0.25));
  std::ostringstream csv, table, json;
  write_csv(store, csv);
  EXPECT_THAT(csv.str(), testing::StartsWith("sweep,place,hash,run.warmup,run.iterations,outcome,error,duration_s,"));
  EXPECT_THAT(csv.str(), HasSubstr(",0,4,completed,,0.25,"));
  EXPECT_THAT(csv.str(), HasSubstr("\r\n1,2," + plan_.points()[2].hash + ",1,2,,,,"));
  write_table(store, table);
  EXPECT_THAT(table.str(), HasSubstr("  warmup  iterations  iteration  slowdown   throughput\n"));
  EXPECT_THAT(table.str(), HasSubstr("250 ms"));
  EXPECT_THAT(table.str(), HasSubstr("not done"));
  write_json(store, json);
  const auto points = nlohmann::json::parse(json.str())["sweeps"][0]["points"];
  EXPECT_EQ(points[1]["settings"]["run.iterations"], 4);
  EXPECT_EQ(points[1]["summary"]["duration_s"], 0.25);
  EXPECT_TRUE(points[0]["outcome"].is_null());
}

// A spreadsheet takes a cell that begins with =, +, - or @ for a formula; an apostrophe before it says that it is text.
TEST_F(SweepRunTest, CsvHasNoFormulas) {
  SweepStore store(folder("a"), SweepStore::Open::Create);
  store.add(plan_, points_of(plan_, {}));
  PointOutcome outcome = failed(0);
  outcome.error = "=cmd|' /C calc'!A0";
  store.keep(plan_.points()[0].hash, outcome);
  outcome.error = "-5";
  store.keep(plan_.points()[1].hash, outcome);
  std::ostringstream csv;
  write_csv(store, csv);
  EXPECT_THAT(csv.str(), HasSubstr(",failed,'=cmd|' /C calc'!A0,"));
  EXPECT_THAT(csv.str(), HasSubstr(",failed,-5,"));
}

// In real processes: one reports, one throws, one crashes, one never ends, one takes 200 MB.
TEST(PointProcesses, SayHowEachPointEnded) {
  PointProcesses workers(
      [](std::size_t point) -> std::string {
        if (point == 1) throw UserError("trace", "does not fit");
        if (point == 2) {
          std::fputs("a last word\n", stderr);
          raise(SIGKILL);
        }
        if (point == 3) sleep(60);
        if (point == 4) {
          const std::string big(200'000'000, 'x');
          sleep(60);
          return big;
        }
        return report(1);
      },
      5, {.timeout = 2s, .memory = Bytes{150'000'000}});
  EXPECT_EQ(workers.free(), 5u);
  for (std::size_t point = 0; point < 5; ++point) workers.start(point);
  EXPECT_EQ(workers.free(), 0u);
  std::map<std::size_t, PointOutcome> ended;
  while (ended.size() < 5)
    for (PointOutcome& outcome : workers.wait(100ms)) ended[outcome.point] = std::move(outcome);
  EXPECT_EQ(ended[0].outcome, "completed");
  EXPECT_EQ(ended[0].report, report(1));
  for (std::size_t point = 1; point < 5; ++point) EXPECT_EQ(ended[point].outcome, "failed");
  EXPECT_THAT(ended[1].error, HasSubstr("does not fit"));
  EXPECT_THAT(ended[2].error, HasSubstr("signal 9"));
  EXPECT_THAT(ended[2].error, HasSubstr("a last word"));
  EXPECT_EQ(ended[3].error, "took longer than 2 s (--timeout)");
  EXPECT_EQ(ended[4].error, "took more memory than 150 MB (--memory)");
  EXPECT_EQ(workers.running(), 0u);
}

// Three ranks in one process: rank 0 leads, the messages of the others are played by the test.
class FakePeers final : public Peers {
 public:
  int rank() const override { return 0; }
  int size() const override { return 3; }
  void send(int to, const std::string& text) override {
    const auto message = nlohmann::json::parse(text);
    if (message.contains("stop")) {
      inbox.push_back({to, R"({"gone":true})"});
      return;
    }
    asked[to].push_back(message.at("point"));
    if (to == leaves) {
      inbox.push_back({to, R"({"gone":true})"});
      return;
    }
    nlohmann::json answer = {{"point", message.at("point")},
                             {"outcome", "completed"},
                             {"error", ""},
                             {"report", report(1)},
                             {"wall_s", 1.0},
                             {"cpu_s", 1.0},
                             {"worker", "peer"},
                             {"rss", 1}};
    inbox.push_back({to, answer.dump()});
  }
  std::optional<PeerMessage> receive() override {
    if (inbox.empty()) return std::nullopt;
    PeerMessage message = inbox.front();
    inbox.pop_front();
    return message;
  }

  std::deque<PeerMessage> inbox;
  std::map<int, std::vector<std::size_t>> asked;
  int leaves = 0;
};

TEST_F(SweepRunTest, PeersGetPointsAsTheyAreFree) {
  FakePeers peers;
  peers.inbox = {{1, R"({"free":1})"}, {2, R"({"free":2})"}};
  SweepStore store(folder("a"), SweepStore::Open::Create);
  auto here = std::make_unique<FakeWorkers>(1);
  {
    PeerWorkers workers(peers, std::move(here), plan_);
    EXPECT_EQ(run(store, workers).done, 10u);
  }
  EXPECT_FALSE(peers.asked[1].empty());
  EXPECT_GT(peers.asked[2].size(), peers.asked[1].size());
}

// Rank 2 is told to end by somebody else; its points are simulated by the others.
TEST_F(SweepRunTest, PointsOfAPeerThatLeavesAreStartedAgain) {
  FakePeers peers;
  peers.inbox = {{1, R"({"free":1})"}, {2, R"({"free":2})"}};
  peers.leaves = 2;
  SweepStore store(folder("a"), SweepStore::Open::Create);
  PeerWorkers workers(peers, std::make_unique<FakeWorkers>(1), plan_);
  const SweepProgress end = run(store, workers);
  EXPECT_EQ(end.done, 10u);
  EXPECT_EQ(end.failed, 0u);
  EXPECT_LE(peers.asked[2].size(), 2u);  // its room when it left
}

TEST_F(SweepRunTest, ReportsTheFaultOfAPeer) {
  FakePeers peers;
  peers.inbox = {{1, R"({"gone":true,"fault":"no such file"})"}};
  PeerWorkers workers(peers, std::make_unique<FakeWorkers>(1), plan_);
  EXPECT_THAT([&] { workers.wait(1ms); }, testing::ThrowsMessage<UserError>(HasSubstr("no such file")));
}

}  // namespace
}  // namespace uvmsim
