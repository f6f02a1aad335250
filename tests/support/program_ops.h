// The operations of one kind that a program has.
#pragma once

#include <variant>
#include <vector>

#include "memory/program.h"

namespace uvmsim::test {

template <class T>
std::vector<T> ops_of(const Program& program) {
  std::vector<T> found;
  for (const Op& operation : program.ops)
    if (const T* one = std::get_if<T>(&operation)) found.push_back(*one);
  return found;
}

}  // namespace uvmsim::test
