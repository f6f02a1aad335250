#include "fake_cupti.h"

#include <algorithm>
#include <cstdlib>
#include <cstring>

namespace fake {

Cupti& cupti() {
  static Cupti state;
  return state;
}

void call(CUpti_CallbackId id, const void* parameters, std::uint32_t correlation, CUresult result) {
  const Cupti& state = cupti();
  if (std::find(state.driver_calls.begin(), state.driver_calls.end(), id) == state.driver_calls.end()) return;
  std::uint64_t shared = 0;
  CUpti_CallbackData data{};
  data.functionParams = parameters;
  data.functionReturnValue = &result;
  data.correlationData = &shared;
  data.correlationId = correlation;
  data.contextUid = 1;
  for (const CUpti_ApiCallbackSite site : {CUPTI_API_ENTER, CUPTI_API_EXIT}) {
    data.callbackSite = site;
    state.callback(nullptr, CUPTI_CB_DOMAIN_DRIVER_API, id, &data);
  }
}

void deliver(std::vector<const CUpti_Activity*> records, std::size_t dropped) {
  cupti().records = std::move(records);
  cupti().dropped = dropped;
  cupti().completed(nullptr, 0, static_cast<std::uint8_t*>(std::malloc(8)), 8, 8);
}

}  // namespace fake

extern "C" {

CUptiResult cuptiSubscribe_v2(CUpti_SubscriberHandle*, CUpti_CallbackFunc callback, void*,
                              CUpti_SubscriberParams* parameters) {
  fake::cupti().callback = callback;
  std::strncpy(parameters->oldSubscriberName, fake::cupti().holder.c_str(), parameters->oldSubscriberSize - 1);
  return fake::cupti().subscribe_result;
}

CUptiResult cuptiEnableCallback(std::uint32_t, CUpti_SubscriberHandle, CUpti_CallbackDomain domain,
                                CUpti_CallbackId id) {
  if (domain == CUPTI_CB_DOMAIN_DRIVER_API) fake::cupti().driver_calls.push_back(id);
  return CUPTI_SUCCESS;
}

CUptiResult cuptiActivityEnable(CUpti_ActivityKind kind) {
  fake::cupti().kinds.push_back(kind);
  return CUPTI_SUCCESS;
}

CUptiResult cuptiActivityRegisterCallbacks(CUpti_BuffersCallbackRequestFunc,
                                           CUpti_BuffersCallbackCompleteFunc completed) {
  fake::cupti().completed = completed;
  return CUPTI_SUCCESS;
}

CUptiResult cuptiActivityGetNextRecord(std::uint8_t*, std::size_t, CUpti_Activity** record) {
  auto& records = fake::cupti().records;
  if (records.empty()) return CUPTI_ERROR_MAX_LIMIT_REACHED;
  *record = const_cast<CUpti_Activity*>(records.front());
  records.erase(records.begin());
  return CUPTI_SUCCESS;
}

CUptiResult cuptiActivityGetNumDroppedRecords(CUcontext, std::uint32_t, std::size_t* dropped) {
  *dropped = fake::cupti().dropped;
  return CUPTI_SUCCESS;
}

CUptiResult cuptiGetStreamIdEx(CUcontext, CUstream stream, std::uint8_t per_thread, std::uint32_t* id) {
  *id = stream == nullptr ? (per_thread != 0 ? 8 : 7)
                          : static_cast<std::uint32_t>(reinterpret_cast<std::uintptr_t>(stream));
  return CUPTI_SUCCESS;
}

CUptiResult cuptiGetTimestamp(std::uint64_t* time) {
  static std::uint64_t now = 0;
  *time = ++now;
  return CUPTI_SUCCESS;
}

CUptiResult cuptiGetVersion(std::uint32_t* version) {
  *version = CUPTI_API_VERSION;
  return CUPTI_SUCCESS;
}

CUptiResult cuptiGetResultString(CUptiResult, const char** text) {
  *text = "the fake's error";
  return CUPTI_SUCCESS;
}

CUptiResult cuptiGetDeviceId(CUcontext, std::uint32_t* device) {
  *device = 0;
  return CUPTI_SUCCESS;
}

CUptiResult cuptiActivityFlushAll(std::uint32_t) { return CUPTI_SUCCESS; }

CUptiResult cuptiActivityConfigureUnifiedMemoryCounter(CUpti_ActivityUnifiedMemoryCounterConfig*, std::uint32_t count) {
  return count > 4 ? CUPTI_ERROR_INVALID_PARAMETER : CUPTI_SUCCESS;
}
}
