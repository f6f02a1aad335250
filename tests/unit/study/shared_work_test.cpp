#include "study/shared_work.h"

#include <csignal>
#include <cstdlib>
#include <fstream>
#include <gtest/gtest.h>
#include <memory>
#include <stdexcept>
#include <sys/stat.h>
#include <unistd.h>
#include <vector>

#include "study/child_process.h"
#include "study/mip_solver.h"
#include "study/temporary_folder.h"

namespace uvmsim {
namespace {

// A pipe: one process waits until another one tells it to go on.
class Signal {
 public:
  Signal() {
    if (pipe(ends_) != 0) throw std::runtime_error("no pipe");
  }
  void give() const { EXPECT_EQ(write(ends_[1], "x", 1), 1); }
  void wait() const {
    char byte = 0;
    EXPECT_EQ(read(ends_[0], &byte, 1), 1);
  }

 private:
  int ends_[2] = {};
};

// "x" for each time that the work was done.
std::size_t times(const TemporaryFolder& folder) {
  struct stat file {};
  return stat(folder.file("done").c_str(), &file) == 0 ? static_cast<std::size_t>(file.st_size) : 0;
}
std::string note(const TemporaryFolder& folder) {
  std::ofstream(folder.file("done"), std::ios::app) << 'x';
  return "answer";
}

TEST(SharedWork, IsDoneOnceByAllProcesses) {
  const TemporaryFolder folder;
  const SharedWork shared(2);
  std::vector<std::unique_ptr<ChildProcess>> children;
  for (int n = 0; n < 4; ++n)
    children.push_back(std::make_unique<ChildProcess>([&] {
      const WorkSlot slot;
      return done_once("key", [&] { return note(folder); });
    }));
  for (const auto& child : children) EXPECT_EQ(child->wait(), "answer");
  EXPECT_EQ(times(folder), 1u);
  EXPECT_EQ(done_once("another key", [&] { return note(folder); }), "answer");
  EXPECT_EQ(times(folder), 2u);
}

TEST(SharedWork, IsDoneEachTimeWhereNothingIsShared) {
  const TemporaryFolder folder;
  for (int n = 0; n < 2; ++n) done_once("key", [&] { return note(folder); });
  EXPECT_EQ(times(folder), 2u);
}

TEST(SharedWork, OfAProcessThatDiesIsDoneByTheNextOne) {
  const TemporaryFolder folder;
  const SharedWork shared(1);
  ChildProcess dies([&] {
    const WorkSlot slot;
    return done_once("key", []() -> std::string {
      raise(SIGKILL);
      return "";
    });
  });
  EXPECT_THROW(dies.wait(), std::runtime_error);
  ChildProcess next([&] {
    const WorkSlot slot;
    return done_once("key", [&] { return note(folder); });
  });
  EXPECT_EQ(next.wait(), "answer");
}

TEST(SharedWork, WhatThrowsIsTriedAgain) {
  const TemporaryFolder folder;
  const SharedWork shared(1);
  EXPECT_THROW(done_once("key", []() -> std::string { throw std::runtime_error("no"); }), std::runtime_error);
  EXPECT_EQ(done_once("key", [&] { return note(folder); }), "answer");
}

// One slot: the second child works only when the first one, which waits for it to say so in vain, has ended.
TEST(WorkSlots, LetNoMoreProcessesWorkThanThereAre) {
  const TemporaryFolder folder;
  const SharedWork shared(1);
  Signal works, ends;
  ChildProcess first([&] {
    const WorkSlot slot;
    works.give();
    ends.wait();
    return std::to_string(times(folder));
  });
  works.wait();
  ChildProcess second([&] {
    const WorkSlot slot;
    return note(folder);
  });
  usleep(100'000);
  ends.give();
  EXPECT_EQ(first.wait(), "0");
  EXPECT_EQ(second.wait(), "answer");
}

// Two slots: the first child works until the third one has ended. The second one waits for its answer, and the third
// one can work only with the second one's slot.
TEST(WorkSlots, OfAProcessThatWaitsForAnotherAreFree) {
  const TemporaryFolder folder;
  const SharedWork shared(2);
  Signal works, ends;
  const auto work = [&] {
    works.give();
    ends.wait();
    return note(folder);
  };
  ChildProcess first([&] {
    const WorkSlot slot;
    return done_once("key", work);
  });
  works.wait();
  ChildProcess second([&] {
    const WorkSlot slot;
    works.give();
    return done_once("key", work);
  });
  works.wait();
  ChildProcess third([&] {
    const WorkSlot slot;
    ends.give();
    return std::string("third");
  });
  EXPECT_EQ(third.wait(), "third");
  EXPECT_EQ(first.wait() + second.wait(), "answeranswer");
  EXPECT_EQ(times(folder), 1u);
}

// A program of the search path that is named cbc and ends by SIGABRT, as CBC's failed assertions do.
TEST(Solver, ThatDiesIsAnOutcome) {
  const TemporaryFolder folder;
  folder.write("cbc", "#!/bin/sh\nkill -ABRT $$\n");
  chmod(folder.file("cbc").c_str(), 0700);
  const std::string path = std::getenv("PATH");
  setenv("PATH", (folder.file("") + ":" + path).c_str(), 1);
  MipModel model;
  model.add_variable("x", true, 1);
  const auto solution = solve_with_cbc(model, {}, {});
  setenv("PATH", path.c_str(), 1);
  ASSERT_TRUE(solution.has_value());
  EXPECT_EQ(solution->status, MipSolution::Status::Failed);
  EXPECT_EQ(solution->trouble, "cbc wrote no solution, ended by signal 6");
}

}  // namespace
}  // namespace uvmsim
