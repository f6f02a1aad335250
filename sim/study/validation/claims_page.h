// What papers say about their systems, and what the simulator says: validation/CLAIMS.md.
#pragma once

#include <string>
#include <vector>

#include "study/validation/score.h"

namespace uvmsim {

// Every claim of every system in one table, in Markdown: published, ours, what counts as the same, the verdict, and why
// where they differ. Inputs are listed and counted apart.
std::string claims_page(const std::vector<Score>& claims);

}  // namespace uvmsim
