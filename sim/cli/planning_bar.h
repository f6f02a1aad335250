// A progress bar for the making of plans, which has no place from where to redraw one.
#pragma once

#include <memory>

#include "study/child_process.h"
#include "study/planning_progress.h"
#include "study/shared_object.h"

namespace uvmsim {

// Redrawn a few times a second by a process of its own, until stop(). Begin it before the engine is used, and from the
// only thread.
class PlanningBar {
 public:
  explicit PlanningBar(bool enabled);
  ~PlanningBar() { stop(); }
  PlanningBar(const PlanningBar&) = delete;
  PlanningBar& operator=(const PlanningBar&) = delete;

  // Where to note what it shows.
  PlanningProgress* progress() { return &*progress_; }
  void stop();

 private:
  SharedObject<PlanningProgress> progress_;
  std::unique_ptr<ChildProcess> painter_;
};

}  // namespace uvmsim
