#pragma once

#include <cupti.h>
#include <string>
#include <vector>

// A CUPTI without a GPU: what the adapter registers with it, and what it answers.
namespace fake {

struct Cupti {
  CUptiResult subscribe_result = CUPTI_SUCCESS;
  std::string holder;  // of CUPTI, when subscribe_result says so
  CUpti_CallbackFunc callback = nullptr;
  std::vector<CUpti_CallbackId> driver_calls;  // switched on
  CUpti_BuffersCallbackCompleteFunc completed = nullptr;
  std::vector<const CUpti_Activity*> records;  // what the next buffer holds
  std::size_t dropped = 0;
  std::vector<CUpti_ActivityKind> kinds;  // switched on
};

Cupti& cupti();

// The program calls a function of the driver: both callbacks, as CUPTI makes them.
void call(CUpti_CallbackId id, const void* parameters, std::uint32_t correlation, CUresult result = CUDA_SUCCESS);

// CUPTI hands over a buffer of these records.
void deliver(std::vector<const CUpti_Activity*> records, std::size_t dropped = 0);

}  // namespace fake
