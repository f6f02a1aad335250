// The man page, written from the commands there are.
#pragma once

#include <string>

#include "cli/command_tree.h"

namespace uvmsim {

// In the language of man(7).
std::string man_page(const Command& root, const std::string& version);

}  // namespace uvmsim
