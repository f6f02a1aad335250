#include "study/calibration/fit_text.h"

#include <cmath>

#include "base/number_text.h"
#include "base/quantity.h"
#include "study/validation/score_text.h"

namespace uvmsim {

std::string step_time_text(double time_s) { return to_text(from_seconds(time_s)); }

std::string factor_text(double deviation) { return "x/ " + number_text(std::exp(deviation)); }

std::vector<std::string> target_head() { return {"value", "measured", "before", "after", "error before", "after"}; }

std::vector<std::string> target_row(const std::string& name, double measured, double before, double after) {
  return {name,
          number_text(measured),
          number_text(before),
          number_text(after),
          error_text(before / measured - 1),
          error_text(after / measured - 1)};
}

}  // namespace uvmsim
