// The header record of a trace: one JSON object, on the first line.
#pragma once

#include <functional>
#include <string>
#include <string_view>

#include "trace/record.h"

namespace uvmsim::trace {

// Devices that the trace runs on: those that its header describes, one where it describes none.
inline std::size_t device_count(const Header& header) { return header.devices.empty() ? 1 : header.devices.size(); }

// The header that the object `text` describes. `ignore(key)` is called for each key it does not know.
// Throws ParseError. `text` is one JSON value whose nesting the caller has bounded.
Header parse_header(std::string_view text, const std::function<void(std::string_view)>& ignore);

// The canonical object, without a newline. Bytes that are no UTF-8 become U+FFFD.
std::string format_header(const Header& header);

// `text` as a JSON string with quotes, escapes only where JSON demands them.
std::string format_text(const std::string& text);

}  // namespace uvmsim::trace
