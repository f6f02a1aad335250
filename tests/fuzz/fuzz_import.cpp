// Any bytes as a file of another program: refused with faults, or a valid trace.
#include <cstdint>
#include <string>

#include "base/check.h"
#include "base/user_error.h"
#include "importers/importer.h"
#include "trace/checker.h"
#include "workload/iterations.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace uvmsim;
  // Four bytes of 0xff separate two files of one import, such as events and operators.
  const std::string bytes(reinterpret_cast<const char*>(data), size);
  const std::size_t cut = bytes.find("\xff\xff\xff\xff");
  std::vector<ImportFile> files = {ImportFile::of("a", bytes.substr(0, cut))};
  if (cut != std::string::npos) files.push_back(ImportFile::of("b", bytes.substr(cut + 4)));
  try {
    trace::Trace trace = import_files(files);
    if (!has_iterations(trace)) mark_iterations(trace);
    UVMSIM_CHECK(check_trace(trace).empty(), "an import is not valid");
  } catch (const UserError& error) {
    UVMSIM_CHECK(!error.errors().empty(), "refused without a fault");
  }
  return 0;
}
