// Traces as text, for tests.
#pragma once

#include <sstream>
#include <string>

#include "base/user_error.h"
#include "trace/reader.h"
#include "trace/writer.h"

namespace uvmsim::trace {

inline const std::string kTestHeader = R"(["M",{"v":1}])"
                                       "\n";

// The trace in `text`, read as file "t".
inline Trace trace_of(const std::string& text) {
  std::istringstream in(text);
  return read_trace(in, "t");
}

inline std::string text_of(const Trace& trace, WriteOptions options = {}) {
  std::ostringstream out;
  write_trace(trace, out, options);
  return out.str();
}

// What the reader says of `text`, one "place: message" a line; empty when it takes it.
inline std::string errors_of(const std::string& text) {
  try {
    trace_of(text);
    return "";
  } catch (const UserError& error) {
    std::string all;
    for (const InputError& f : error.errors()) all += (all.empty() ? "" : "\n") + f.place + ": " + f.message;
    return all;
  }
}

}  // namespace uvmsim::trace
