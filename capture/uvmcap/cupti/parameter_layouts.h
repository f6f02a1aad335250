#pragma once

#include <cuda.h>
#include <mutex>
#include <optional>
#include <unordered_map>

#include "arguments.h"

namespace uvmcap {

// Sizes of the parameters of kernels, asked of the driver (12.4 or newer) once for each: it is not to be called in
// every launch. libcuda is found in the process, never linked. Thread-safe.
class ParameterLayouts {
 public:
  // nullopt: the driver cannot say.
  std::optional<ParameterSizes> of(CUfunction function);
  // After a module was unloaded its functions' handles may be used again.
  void forget();

 private:
  std::mutex mutex_;
  std::unordered_map<CUfunction, std::optional<ParameterSizes>> known_;
};

}  // namespace uvmcap
