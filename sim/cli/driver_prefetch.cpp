#include "cli/driver_prefetch.h"

#include <fstream>
#include <nlohmann/json.hpp>

#include "base/user_error.h"
#include "study/prefetch_vectors.h"

namespace uvmsim {

int run_driver_prefetch(const std::string& path, bool json, std::ostream& out) {
  std::ifstream in(path);
  if (!in) throw UserError(path, "cannot be read");
  const VectorReport report = evaluate_prefetch_vectors(in);
  if (json) {
    const nlohmann::ordered_json object = {
        {"passed", report.passed}, {"failed", report.failed}, {"mismatches", report.mismatches}};
    out << object.dump(2) << "\n";
    return report.failed == 0 ? 0 : 1;
  }
  for (const std::string& mismatch : report.mismatches) out << mismatch << "\n";
  out << report.passed << " passed, " << report.failed << " failed\n";
  return report.failed == 0 ? 0 : 1;
}

}  // namespace uvmsim
