#include "importers/lines.h"

#include <string>

namespace uvmsim {

void each_line(const ImportFile& file, trace::ErrorList& errors,
               const std::function<void(std::string_view, std::int64_t)>& on_line) {
  const auto source = file.open();
  trace::LineReader lines(*source);
  std::string_view line;
  for (;;) {
    try {
      if (!lines.next(line)) return;
      on_line(line, lines.line_number());
    } catch (const trace::ParseError& error) {
      errors.add(file.name() + ":" + std::to_string(lines.line_number()), error.message);
    }
  }
}

}  // namespace uvmsim
