// Simulated threads and their clock. One scheduler per process: ctest runs every test alone.
#include "engine/scheduler.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "engine/clock.h"
#include "engine/wait.h"

namespace uvmsim {
namespace {

using testing::ElementsAre;
using Kind = Scheduler::Kind;

// Nothing goes on beside the actors.
bool run_alone() {
  return scheduler().run([](Time next) { return next; });
}

class Log {
 public:
  void operator()(const std::string& what) { lines.push_back(std::to_string(now().count()) + " " + what); }
  std::vector<std::string> lines;
};

TEST(Scheduler, WakesSleepersInOrderOfTimeThenOfGoingToSleep) {
  Log log;
  const auto sleeper = [&log](const std::string& name, std::int64_t until) {
    scheduler().spawn(name, [&log, name, until] {
      sleep_until(Time{until});
      log(name);
    });
  };
  sleeper("late", 7);
  sleeper("first", 5);
  sleeper("second", 5);
  EXPECT_TRUE(run_alone());
  EXPECT_THAT(log.lines, ElementsAre("5 first", "5 second", "7 late"));
}

TEST(Scheduler, RunsWhoeverIsNotifiedWhenTheNotifierWaits) {
  Log log;
  WaitList list("a word");
  for (const char* name : {"a", "b"})
    scheduler().spawn(name, [&, name] {
      list.wait();
      log(name);
    });
  scheduler().spawn("notifier", [&] {
    sleep_until(Time{3});
    list.notify_all();
    log("notifier");
  });
  EXPECT_TRUE(run_alone());
  EXPECT_THAT(log.lines, ElementsAre("3 notifier", "3 a", "3 b"));
}

TEST(Scheduler, AWaitEndsOnceByANotificationOrByItsTime) {
  Log log;
  WaitList list("a word");
  scheduler().spawn("patient", [&] {
    list.wait(Time{10});
    log("notified");
    list.wait(Time{10});
    log("timed out");
    sleep_until(Time{20});
    log("slept");
  });
  scheduler().spawn("notifier", [&] {
    sleep_until(Time{4});
    list.notify_all();
    sleep_until(Time{15});
    list.notify_all();
  });
  EXPECT_TRUE(run_alone());
  EXPECT_THAT(log.lines, ElementsAre("4 notified", "10 timed out", "20 slept"));
}

// The notification comes at 10, before the waiter, whose time is up, has run.
TEST(Scheduler, ANotificationAtTheTimeOfAWaitsEndIsNotLeftForTheNextWait) {
  Log log;
  WaitList list("a word");
  scheduler().spawn("notifier", [&] {
    sleep_until(Time{10});
    list.notify_all();
  });
  scheduler().spawn("patient", [&] {
    list.wait(Time{10});
    list.wait(Time{12});
    log("timed out");
  });
  EXPECT_TRUE(run_alone());
  EXPECT_THAT(log.lines, ElementsAre("12 timed out"));
}

TEST(Scheduler, AWaitsEndCanBeMoved) {
  Log log;
  Actor* waits = nullptr;
  scheduler().spawn("moved", [&] {
    waits = &scheduler().self();
    EXPECT_FALSE(scheduler().wait_until(Time{5}));
    log("moved");
  });
  scheduler().spawn("mover", [&] { scheduler().wake_at(*waits, Time{9}); });
  EXPECT_TRUE(run_alone());
  EXPECT_THAT(log.lines, ElementsAre("9 moved"));
}

TEST(Scheduler, ThreadsThatStillWaitAtTheEndAreNamedAndDaemonsAreNot) {
  WaitList list("a word");
  scheduler().spawn("thread", [&] { list.wait(); });
  scheduler().spawn(
      "daemon", [&] { list.wait(); }, Kind::Daemon);
  EXPECT_FALSE(run_alone());
  EXPECT_THAT(WaitList::who_waits_for_what(), ElementsAre("thread waits for a word"));
}

TEST(Scheduler, DaemonsAreNotWaitedFor) {
  WaitList list("a word");
  scheduler().spawn(
      "daemon", [&] { list.wait(); }, Kind::Daemon);
  EXPECT_TRUE(run_alone());
}

TEST(Scheduler, StopsForGood) {
  Log log;
  scheduler().spawn("stops", [&] {
    sleep_until(Time{1});
    log("stops");
    scheduler().stop();
  });
  scheduler().spawn("goes on", [&] {
    sleep_until(Time{2});
    log("goes on");
  });
  EXPECT_TRUE(run_alone());
  EXPECT_THAT(log.lines, ElementsAre("1 stops"));
}

// A million short lives: the stacks of those that ended are used again, or memory would run out.
TEST(Scheduler, UsesTheStacksOfActorsThatHaveEnded) {
  int ended = 0;
  scheduler().spawn("parent", [&] {
    for (int i = 1; i <= 1'000'000; ++i) {
      scheduler().spawn("child", [&] { ++ended; });
      sleep_until(Time{i});
    }
  });
  EXPECT_TRUE(run_alone());
  EXPECT_EQ(ended, 1'000'000);
}

TEST(Slots, AreHandedOnInTheOrderOfAsking) {
  Log log;
  Slots slots(1);
  for (const char* name : {"a", "b", "c"})
    scheduler().spawn(name, [&, name] {
      slots.acquire();
      sleep_until(now() + Time{2});
      log(name);
      slots.release();
      slots.acquire();  // behind those that wait
      slots.release();
    });
  EXPECT_TRUE(run_alone());
  EXPECT_THAT(log.lines, ElementsAre("2 a", "4 b", "6 c"));
}

}  // namespace
}  // namespace uvmsim
