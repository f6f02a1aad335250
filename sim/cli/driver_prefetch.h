// `uvmsim driver prefetch FILE`: the density prefetcher against a file of vectors.
#pragma once

#include <ostream>
#include <string>

namespace uvmsim {

// Prints each mismatch and a last line "N passed, M failed", or one object with `json`. Returns 1 on any mismatch, else
// 0. Throws UserError when the file cannot be read or is not of the form study/prefetch_vectors.h describes.
int run_driver_prefetch(const std::string& path, bool json, std::ostream& out);

}  // namespace uvmsim
