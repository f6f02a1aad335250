// A progress bar for simulations in processes of their own.
#pragma once

#include "cli/interrupt.h"
#include "cli/progress_bar.h"
#include "study/sweep/point_workers.h"

namespace uvmsim {

// Shows on `bar`, which must live as long, how far they are; an EndOnRequest stops them.
inline PointWatch watched(ProgressBar& bar) {
  return {.progress =
              [&bar](double work, std::size_t done, std::size_t all) {
                bar.show(work / static_cast<double>(all),
                         std::to_string(done) + "/" + std::to_string(all) + " simulations");
              },
          .stopped = end_requested};
}

}  // namespace uvmsim
