#include "trace/pattern.h"

namespace uvmsim::trace {

bool covers_its_range(Pattern pattern) {
  return pattern != Pattern::Strided && pattern != Pattern::Order && pattern != Pattern::Chase &&
         pattern != Pattern::Random;
}

bool covers_its_range(const Access& access, std::int64_t tensor_bytes) {
  return access.offset == 0 && (access.length < 0 || access.length >= tensor_bytes) && covers_its_range(access.pattern);
}

}  // namespace uvmsim::trace
