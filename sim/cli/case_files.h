// Which files hold validation cases.
#pragma once

#include <string>
#include <vector>

namespace uvmsim {

// The .json files that `paths` mean: files, and all in folders and the folders in them, in the order of their names.
// Throws UserError for what is neither, and for a folder without any.
std::vector<std::string> case_files(const std::vector<std::string>& paths);

}  // namespace uvmsim
