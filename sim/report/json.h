// Results as JSON: for programs that read reports, and for processes that hand results to each other.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "report/report.h"

namespace uvmsim {

// `report` as one object, indented by two, ending in a newline. Keys stand in the order of kFields; the same report
// gives the same bytes, and every double reads back as itself.
std::string to_json(const Report& report);

// All of `result` in one line, and back: result_from_json(to_json(r)) is r. nullopt when `text` is anything else,
// such as the output of a process that died.
std::string to_json(const Result& result);
std::optional<Result> result_from_json(std::string_view text);

// What every key of to_json(Report) means, as a Markdown page.
std::string report_documentation();

}  // namespace uvmsim
