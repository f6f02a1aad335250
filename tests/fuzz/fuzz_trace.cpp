// Any bytes as a trace: refused with errors, or read, written and read again to the same bytes.
#include <cstdint>
#include <cstdlib>
#include <sstream>
#include <string>

#include "base/check.h"
#include "base/user_error.h"
#include "trace/checker.h"
#include "trace/info.h"
#include "trace/reader.h"
#include "trace/writer.h"

namespace {

using namespace uvmsim;
using namespace uvmsim::trace;

std::string written(const Trace& trace) {
  std::ostringstream out;
  write_trace(trace, out);
  return out.str();
}

void try_bytes(const std::string& bytes) {
  std::istringstream in(bytes);
  Trace trace;
  try {
    trace = read_trace(in, "input");
  } catch (const UserError& error) {
    UVMSIM_CHECK(!error.errors().empty() && error.errors().size() <= ErrorList::kShown + 1, "faults are not counted");
    return;
  }
  UVMSIM_CHECK(check_trace(trace).empty(), "the reader took what the checker refuses");
  UVMSIM_CHECK(!to_text(describe_trace(trace)).empty() && !to_json(describe_trace(trace)).empty(), "no description");
  const std::string canonical = written(trace);
  std::istringstream again(canonical);
  UVMSIM_CHECK(written(read_trace(again, "canonical")) == canonical, "the canonical form is not stable");
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  try_bytes(std::string(reinterpret_cast<const char*>(data), size));
  return 0;
}
