// What the texts about fits have in common.
#pragma once

#include <string>
#include <vector>

namespace uvmsim {

// "45 us": to the picosecond, as files of costs have it.
std::string step_time_text(double time_s);

// "x/ 1.4": the factor by which a time may be larger or smaller, one standard deviation of its logarithm.
std::string factor_text(double deviation);

// Columns of a value that was fitted to: its name, what was measured, predictions before and after, and their errors.
std::vector<std::string> target_head();
std::vector<std::string> target_row(const std::string& name, double measured, double before, double after);

}  // namespace uvmsim
