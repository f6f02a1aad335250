// Our own errors: a failed CHECK prints where and why, and aborts. On in every build.
#pragma once

namespace uvmsim {

[[noreturn]] void check_failed(const char* file, int line, const char* condition, const char* why);

}  // namespace uvmsim

#define UVMSIM_CHECK(condition, why) \
  ((condition) ? static_cast<void>(0) : ::uvmsim::check_failed(__FILE__, __LINE__, #condition, why))
