// Commands to print: what a shell must read as one word.
#pragma once

#include <string>

namespace uvmsim {

// `word` as it is, or in quotes where a shell would read something else.
std::string shell_word(const std::string& word);

}  // namespace uvmsim
