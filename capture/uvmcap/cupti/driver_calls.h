#pragma once

#include <cupti.h>
#include <string>
#include <vector>

#include "parameter_layouts.h"
#include "recorder.h"

namespace uvmcap {

// One call of the driver as the callback sees it, at its beginning or at its return.
struct SeenCall {
  Recorder& recorder;
  ParameterLayouts& layouts;
  CUcontext context;
  std::uint32_t context_id;
  bool per_thread;  // the entry point whose default stream is the thread's own
  bool scan_arguments;
  Call call;
};

using CallHandler = void (*)(SeenCall& seen, const void* parameters);

// What is done with one entry point of the driver; a call's line is written at its beginning or at its return.
struct FollowedCall {
  CUpti_CallbackId id = 0;
  bool per_thread = false;
  CallHandler at_begin = nullptr;
  CallHandler at_return = nullptr;
  bool waits = false;  // for the GPU
};

// The entry points that `kinds` ask for.
std::vector<FollowedCall> followed_calls(const std::vector<std::string>& kinds);

}  // namespace uvmcap
