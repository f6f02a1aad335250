// What rewritten traces begin with.
#pragma once

#include "trace/record.h"

namespace uvmsim::trace {

// `trace` with all that its records refer to, and none of them.
inline Trace without_records(const Trace& trace) {
  return {.header = trace.header,
          .strings = trace.strings,
          .options = trace.options,
          .variants = trace.variants,
          .accesses = trace.accesses,
          .records = {},
          .ignored_tags = trace.ignored_tags,
          .ignored_keys = trace.ignored_keys};
}

}  // namespace uvmsim::trace
