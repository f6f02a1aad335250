#include "base/check.h"

#include <cstdio>
#include <cstdlib>

namespace uvmsim {

void check_failed(const char* file, int line, const char* condition, const char* why) {
  std::fprintf(stderr, "uvmsim: internal error at %s:%d: %s does not hold: %s\n", file, line, condition, why);
  std::abort();
}

}  // namespace uvmsim
