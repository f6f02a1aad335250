// What an experiment is, in short: the head of results.
#pragma once

#include "report/report.h"
#include "study/experiment.h"

namespace uvmsim {

Setup setup_of(const Experiment& experiment);

}  // namespace uvmsim
