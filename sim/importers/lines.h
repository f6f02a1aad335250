// Formats of lines: one call a line, one error a line.
#pragma once

#include <cstdint>
#include <functional>
#include <string_view>

#include "importers/import_file.h"
#include "trace/error_list.h"

namespace uvmsim {

// Calls `on_line(line, number)`, numbers from 1, for each line of `file`. A trace::ParseError that it throws becomes a
// error at "file:number", and the next line follows; so does a line that is too long. Memory: one line.
void each_line(const ImportFile& file, trace::ErrorList& errors,
               const std::function<void(std::string_view, std::int64_t)>& on_line);

}  // namespace uvmsim
