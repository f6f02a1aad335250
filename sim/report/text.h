// A report for people: tables of at most 100 columns.
#pragma once

#include <string>

#include "report/report.h"

namespace uvmsim {

// `colour`: headings in bold and outcomes that are no success in red, as ANSI escapes. Ends in a newline.
std::string to_text(const Report& report, bool colour);

// A line each for the machine, the workload and what the command line changed; "" for a setup that says nothing.
std::string setup_text(const Setup& setup);

}  // namespace uvmsim
