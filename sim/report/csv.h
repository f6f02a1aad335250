// Comma-separated values, RFC 4180.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace uvmsim {

// The fields of each line. Line ends are CRLF or LF; the last line may lack its own.
std::vector<std::vector<std::string>> read_csv(std::string_view text);

}  // namespace uvmsim
