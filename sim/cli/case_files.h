// Which files hold validation cases.
#pragma once

#include <string>
#include <vector>

namespace uvmsim {

// The .json files that `paths` mean: files, bundled families by name ("blog_p100"), and all in folders and the folders
// in them, in the order of their names. Throws UserError for what is none of these, with the nearest family, and for a
// folder without any.
std::vector<std::string> case_files(const std::vector<std::string>& paths);

}  // namespace uvmsim
