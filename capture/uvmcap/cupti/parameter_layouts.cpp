#include "parameter_layouts.h"

#include <dlfcn.h>

namespace uvmcap {

namespace {

// Of cuFuncGetParamInfo and cuKernelGetParamInfo.
using GetParamInfo = CUresult (*)(void*, std::size_t, std::size_t*, std::size_t*);

GetParamInfo driver_function(const char* name) {
  void* driver = dlopen("libcuda.so.1", RTLD_NOW | RTLD_NOLOAD);
  return driver == nullptr ? nullptr : reinterpret_cast<GetParamInfo>(dlsym(driver, name));
}

// The driver answers CUDA_ERROR_INVALID_VALUE for the parameter after the last.
std::optional<ParameterSizes> ask(GetParamInfo get, void* function) {
  if (get == nullptr) return std::nullopt;
  ParameterSizes sizes;
  for (;;) {
    std::size_t offset = 0, bytes = 0;
    const CUresult result = get(function, sizes.size(), &offset, &bytes);
    if (result == CUDA_ERROR_INVALID_VALUE) return sizes;
    if (result != CUDA_SUCCESS) return std::nullopt;
    sizes.push_back(bytes);
  }
}

}  // namespace

std::optional<ParameterSizes> ParameterLayouts::of(CUfunction function) {
  static const GetParamInfo of_function = driver_function("cuFuncGetParamInfo");
  static const GetParamInfo of_kernel = driver_function("cuKernelGetParamInfo");
  const std::lock_guard lock(mutex_);
  const auto [place, is_new] = known_.try_emplace(function);
  if (is_new) {
    place->second = ask(of_function, function);
    // cuLaunchKernel also takes a CUkernel in the place of the function.
    if (!place->second || place->second->empty()) {
      if (std::optional<ParameterSizes> kernel = ask(of_kernel, function); kernel && !kernel->empty()) {
        place->second = std::move(kernel);
      }
    }
  }
  return place->second;
}

void ParameterLayouts::forget() {
  const std::lock_guard lock(mutex_);
  known_.clear();
}

}  // namespace uvmcap
