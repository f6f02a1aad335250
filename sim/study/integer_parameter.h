// A whole number that the workload's generator takes, such as its batch, to be varied.
#pragma once

#include <algorithm>
#include <cstdint>
#include <string>

#include "workload/generator.h"

namespace uvmsim {

// The parameter `key` of `generator`, if it has a whole number of that name, or a size, which counts in units of
// `size_unit` bytes (0: sizes are no whole numbers). Gets its value back in the end.
class IntegerParameter {
 public:
  IntegerParameter(Generator* generator, const std::string& key, std::int64_t size_unit = 0);
  ~IntegerParameter() {
    if (size_ != nullptr)
      *size_ = given_size_;
    else if (exists())
      set(given_);
  }
  IntegerParameter(const IntegerParameter&) = delete;
  IntegerParameter& operator=(const IntegerParameter&) = delete;

  bool exists() const { return wide_ != nullptr || narrow_ != nullptr || size_ != nullptr; }
  bool counts_bytes() const { return size_ != nullptr; }
  std::int64_t given() const { return given_; }
  std::int64_t smallest() const { return smallest_; }
  std::int64_t largest() const { return largest_; }
  // Whether the generator takes it.
  bool set(std::int64_t value);

 private:
  std::int64_t get() const {
    if (size_ != nullptr) return size_->value / size_unit_;
    return wide_ != nullptr ? *wide_ : (narrow_ != nullptr ? *narrow_ : 0);
  }

  Generator* generator_;
  std::int64_t* wide_ = nullptr;
  int* narrow_ = nullptr;
  Bytes* size_ = nullptr;
  Bytes given_size_;
  std::int64_t size_unit_;
  std::int64_t smallest_ = 1, largest_ = 0, given_ = 0;
};

// The largest value for which `holds` holds, if it does for all up to there; 0: for none. Doubles, then bisects.
template <class Holds>
std::int64_t largest_value(const IntegerParameter& parameter, std::int64_t start, Holds&& holds) {
  std::int64_t good = 0, bad = std::max<std::int64_t>({start, parameter.smallest(), 1});
  while (bad <= parameter.largest() && holds(bad)) {
    good = bad;
    bad *= 2;
  }
  if (good == 0 && bad > parameter.smallest() && holds(parameter.smallest())) good = parameter.smallest();
  bad = std::min(bad, parameter.largest() + 1);
  while (good > 0 && bad - good > 1) {
    const std::int64_t middle = good + (bad - good) / 2;
    (holds(middle) ? good : bad) = middle;
  }
  return good;
}

}  // namespace uvmsim
