// What an experiment is, in short: the head of results.
#pragma once

#include "report/report.h"
#include "study/experiment.h"

namespace uvmsim {

// `trace`: what the experiment runs.
Setup setup_of(const Experiment& experiment, const trace::Trace& trace);

}  // namespace uvmsim
