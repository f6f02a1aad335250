// Checks the density prefetcher against vectors: a file of single services and of sweeps over a block.
//
// The file is JSON: {"cases": [...], "sweeps": [...]}. Ranges are half-open [first, outer) pages of a block of
// `num_pages` pages that starts `start_page` pages into its 2 MiB frame. A case has `threshold`, `resident`,
// `faulted`, `expect` {prefetch, migrate, migrated_pages, tree_offset, leaf_count, level_count} (what is there is
// checked) and `options`; a sweep has an `order` ("asc", "desc") or a list of `pages`, faulted `batch` at a time
// until every page is resident, and the expected `faults`, `sizes_pages` and `steps` (perhaps only the first ones).
#pragma once

#include <istream>
#include <string>
#include <vector>

namespace uvmsim {

struct VectorReport {
  int passed = 0, failed = 0;           // cases and sweeps
  std::vector<std::string> mismatches;  // one line each: name, what differs, expected and computed
};

// Throws UserError when the text is not JSON of this form.
VectorReport evaluate_prefetch_vectors(std::istream& in);

}  // namespace uvmsim
