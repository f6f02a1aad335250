// A choice of kernels by what they do or how they are called, as a user writes it: "convolution,pointwise".
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "trace/record.h"

namespace uvmsim {

class KernelChoice {
 public:
  // `text`: "all", or classes of kernels (plan/kernel_class.h) and parts of their names, separated by commas; case does
  // not count. UserError, with every fault, for words that are no class and in the name of no kernel of `trace`.
  KernelChoice(std::string_view text, const trace::Trace& trace);

  bool holds(const trace::Kernel& kernel) const { return chosen_[static_cast<std::size_t>(kernel.name)]; }

 private:
  std::vector<bool> chosen_;  // by the number of the string that names the kernel
};

}  // namespace uvmsim
