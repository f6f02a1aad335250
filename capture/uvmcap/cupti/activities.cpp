#include "activities.h"

#include <algorithm>
#include <cstdlib>
#include <cxxabi.h>
#include <mutex>
#include <unordered_map>

#include "layouts.h"

namespace uvmcap {

namespace {

constexpr std::size_t kBufferBytes = std::size_t{1} << 20;
constexpr std::size_t kBufferAlignment = 8;

Recorder* recorder_of_buffers = nullptr;

std::string demangled(const char* mangled) {
  if (mangled == nullptr) return "";
  static std::mutex mutex;
  static std::unordered_map<std::string, std::string> known;
  const std::lock_guard lock(mutex);
  const auto [place, is_new] = known.try_emplace(mangled);
  if (is_new) {
    int status = 0;
    char* name = abi::__cxa_demangle(mangled, nullptr, nullptr, &status);
    place->second = status == 0 ? name : mangled;
    std::free(name);
  }
  return place->second;
}

KernelRun decode(const KernelRecord& record) {
  KernelRun run;
  run.correlation = record.correlationId;
  run.name = demangled(record.name);
  run.device = record.deviceId;
  run.stream = record.streamId;
  run.start = record.start;
  run.end = record.end;
  run.grid[0] = record.gridX;
  run.grid[1] = record.gridY;
  run.grid[2] = record.gridZ;
  run.block[0] = record.blockX;
  run.block[1] = record.blockY;
  run.block[2] = record.blockZ;
  run.registers = record.registersPerThread;
  run.shared_bytes = std::int64_t{record.staticSharedMemory} + record.dynamicSharedMemory;
  run.graph_node = record.graphNodeId;
  return run;
}

// Copies on a device and those between two have the same fields but for the other device.
template <typename Record>
CopyRun decode_copy(const Record& record) {
  CopyRun run;
  run.correlation = record.correlationId;
  run.device = record.deviceId;
  run.stream = record.streamId;
  run.start = record.start;
  run.end = record.end;
  run.bytes = record.bytes;
  run.kind = record.copyKind;
  run.source = record.srcKind;
  run.destination = record.dstKind;
  run.async = (record.flags & CUPTI_ACTIVITY_FLAG_MEMCPY_ASYNC) != 0;
  return run;
}

CopyRun decode(const PeerRecord& record) {
  CopyRun run = decode_copy(record);
  run.peer = record.dstDeviceId;
  return run;
}

SetRun decode(const MemsetRecord& record) {
  return {.correlation = record.correlationId,
          .device = record.deviceId,
          .stream = record.streamId,
          .start = record.start,
          .end = record.end,
          .bytes = record.bytes,
          .memory = record.memoryKind};
}

UnifiedMemoryEvent decode(const UnifiedMemoryRecord& record) {
  return {.kind = static_cast<unsigned>(record.counterKind),
          .value = record.value,
          .start = record.start,
          .end = record.end,
          .address = record.address,
          .source = record.srcId,
          .destination = record.dstId,
          .flags = record.flags};
}

DeviceInfo decode(const DeviceRecord& record) {
  constexpr std::uint64_t kKilo = 1000;
  return {.device = record.id,
          .name = record.name == nullptr ? "" : record.name,
          .memory_bytes = record.globalMemorySize,
          .bytes_per_second = record.globalMemoryBandwidth * kKilo,
          .multiprocessors = record.numMultiprocessors,
          .clock_hz = record.coreClockRate * kKilo,
          .l2_bytes = record.l2CacheSize,
          .capability_major = record.computeCapabilityMajor,
          .capability_minor = record.computeCapabilityMinor};
}

template <typename Record>
const Record& as(const CUpti_Activity* record) {
  return *reinterpret_cast<const Record*>(record);
}

void write_record(const CUpti_Activity* record, Recorder& recorder) {
  switch (record->kind) {
    case CUPTI_ACTIVITY_KIND_KERNEL:
    case CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL:
      recorder.write(decode(as<KernelRecord>(record)));
      break;
    case CUPTI_ACTIVITY_KIND_MEMCPY:
      recorder.write(decode_copy(as<MemcpyRecord>(record)));
      break;
    case CUPTI_ACTIVITY_KIND_MEMCPY2:
      recorder.write(decode(as<PeerRecord>(record)));
      break;
    case CUPTI_ACTIVITY_KIND_MEMSET:
      recorder.write(decode(as<MemsetRecord>(record)));
      break;
    case CUPTI_ACTIVITY_KIND_UNIFIED_MEMORY_COUNTER:
      recorder.write(decode(as<UnifiedMemoryRecord>(record)));
      break;
    case CUPTI_ACTIVITY_KIND_DEVICE:
      recorder.write(decode(as<DeviceRecord>(record)));
      break;
    default:
      break;
  }
}

void CUPTIAPI buffer_requested(std::uint8_t** buffer, std::size_t* size, std::size_t* max_records) {
  *buffer = static_cast<std::uint8_t*>(std::aligned_alloc(kBufferAlignment, kBufferBytes));
  *size = *buffer == nullptr ? 0 : kBufferBytes;
  *max_records = 0;  // as many as fit
}

void CUPTIAPI buffer_completed(CUcontext context, std::uint32_t stream, std::uint8_t* buffer, std::size_t,
                               std::size_t valid_bytes) {
  Recorder& recorder = *recorder_of_buffers;
  CUpti_Activity* record = nullptr;
  while (valid_bytes > 0 && cuptiActivityGetNextRecord(buffer, valid_bytes, &record) == CUPTI_SUCCESS) {
    write_record(record, recorder);
  }
  std::size_t dropped = 0;
  if (cuptiActivityGetNumDroppedRecords(context, stream, &dropped) == CUPTI_SUCCESS && dropped > 0) {
    recorder.write(Dropped{dropped});
  }
  std::free(buffer);
}

void enable(Recorder& recorder, CUpti_ActivityKind kind, const char* name) {
  const CUptiResult result = cuptiActivityEnable(kind);
  if (result != CUPTI_SUCCESS) recorder.write(Note{std::string(name) + " are not recorded: " + result_text(result)});
}

// Of the kinds from the first to `last`.
CUptiResult configure_counters(CUpti_ActivityUnifiedMemoryCounterKind last) {
  std::vector<CUpti_ActivityUnifiedMemoryCounterConfig> counters;
  for (unsigned kind = CUPTI_ACTIVITY_UNIFIED_MEMORY_COUNTER_KIND_BYTES_TRANSFER_HTOD;
       kind <= static_cast<unsigned>(last); ++kind) {
    CUpti_ActivityUnifiedMemoryCounterConfig counter{};
    counter.scope = CUPTI_ACTIVITY_UNIFIED_MEMORY_COUNTER_SCOPE_PROCESS_ALL_DEVICES;
    counter.kind = static_cast<CUpti_ActivityUnifiedMemoryCounterKind>(kind);
    counter.enable = 1;
    counters.push_back(counter);
  }
  return cuptiActivityConfigureUnifiedMemoryCounter(counters.data(), static_cast<std::uint32_t>(counters.size()));
}

}  // namespace

std::string result_text(CUptiResult result) {
  const char* text = nullptr;
  if (cuptiGetResultString(result, &text) != CUPTI_SUCCESS || text == nullptr) text = "CUPTI error";
  return text;
}

void start_activities(Recorder& recorder, const std::vector<std::string>& kinds) {
  recorder_of_buffers = &recorder;
  const CUptiResult result = cuptiActivityRegisterCallbacks(buffer_requested, buffer_completed);
  if (result != CUPTI_SUCCESS) {
    recorder.write(Note{"nothing of the GPU's side is recorded: " + result_text(result)});
    return;
  }
  const auto asked = [&](const char* kind) { return std::find(kinds.begin(), kinds.end(), kind) != kinds.end(); };
  enable(recorder, CUPTI_ACTIVITY_KIND_DEVICE, "devices");
  if (asked("kernel")) enable(recorder, CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL, "kernels");
  if (asked("copy")) {
    enable(recorder, CUPTI_ACTIVITY_KIND_MEMCPY, "copies");
    enable(recorder, CUPTI_ACTIVITY_KIND_MEMCPY2, "copies between devices");
    enable(recorder, CUPTI_ACTIVITY_KIND_MEMSET, "memsets");
  }
}

void start_unified_memory(Recorder& recorder) {
  CUptiResult result = configure_counters(CUPTI_ACTIVITY_UNIFIED_MEMORY_COUNTER_KIND_BYTES_TRANSFER_DTOD);
  if (result == CUPTI_ERROR_INVALID_PARAMETER) {
    // The first four kinds are those that every CUPTI with such counters has.
    result = configure_counters(CUPTI_ACTIVITY_UNIFIED_MEMORY_COUNTER_KIND_GPU_PAGE_FAULT);
    recorder.write(Note{"thrashing, throttling, remote mappings and migrations between GPUs are not recorded"});
  }
  if (result != CUPTI_SUCCESS) {
    std::string why = result_text(result);
    if (result == CUPTI_ERROR_UM_PROFILING_NOT_SUPPORTED_ON_NON_P2P_DEVICES) {
      why += "; let the program see one GPU only (CUDA_VISIBLE_DEVICES)";
    }
    recorder.write(Note{"unified-memory events are not recorded: " + why});
    return;
  }
  enable(recorder, CUPTI_ACTIVITY_KIND_UNIFIED_MEMORY_COUNTER, "unified-memory events");
}

void flush_activities(bool everything) {
  cuptiActivityFlushAll(everything ? static_cast<std::uint32_t>(CUPTI_ACTIVITY_FLAG_FLUSH_FORCED) : 0U);
}

}  // namespace uvmcap
