// The files of sim/report/web/dist, in the program.
#pragma once

#include <string_view>

namespace uvmsim {

std::string_view report_script();   // dist/report.js
std::string_view report_style();    // dist/report.css
std::string_view report_licence();  // of what the script contains: uPlot

}  // namespace uvmsim
