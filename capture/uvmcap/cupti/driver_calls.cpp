#include "driver_calls.h"

#include <algorithm>
// Each entry point of the driver that is followed, with its argument struct of generated_cuda_meta.h and what becomes
// of it: `s` is the call, `p` are the arguments. The _ptsz and _ptds variants have the same arguments. Names are pasted
// before they are passed on, since cuda.h defines many as macros for a newer version of themselves.
#define UVMCAP_HANDLER(Parameters, ...)                          \
  [](SeenCall& s, const void* parameters) {                      \
    const auto& p = *static_cast<const Parameters*>(parameters); \
    __VA_ARGS__;                                                 \
  }
#define UVMCAP_BEGIN(name, ...) \
  calls.push_back({CUPTI_DRIVER_TRACE_CBID_##name, false, UVMCAP_HANDLER(name##_params, __VA_ARGS__), nullptr})
#define UVMCAP_RETURN(name, ...) \
  calls.push_back({CUPTI_DRIVER_TRACE_CBID_##name, false, nullptr, UVMCAP_HANDLER(name##_params, __VA_ARGS__)})
#define UVMCAP_BEGIN_AND(name, suffix, ...)                                                                      \
  calls.push_back({CUPTI_DRIVER_TRACE_CBID_##name, false, UVMCAP_HANDLER(name##_params, __VA_ARGS__), nullptr}); \
  calls.push_back({CUPTI_DRIVER_TRACE_CBID_##name##suffix, true, calls.back().at_begin, nullptr})
#define UVMCAP_RETURN_AND(name, suffix, ...)                                                                     \
  calls.push_back({CUPTI_DRIVER_TRACE_CBID_##name, false, nullptr, UVMCAP_HANDLER(name##_params, __VA_ARGS__)}); \
  calls.push_back({CUPTI_DRIVER_TRACE_CBID_##name##suffix, true, nullptr, calls.back().at_return})

namespace uvmcap {

namespace {

std::uint64_t number(std::uint64_t address) { return address; }
std::uint64_t number(const void* pointer) { return reinterpret_cast<std::uint64_t>(pointer); }

// CUPTI's id of a stream; its line comes before the first that names it.
std::uint32_t stream_id(SeenCall& s, CUstream stream) {
  const bool legacy = stream == CU_STREAM_LEGACY || (stream == nullptr && !s.per_thread);
  const bool own = stream == CU_STREAM_PER_THREAD || (stream == nullptr && s.per_thread);
  std::uint32_t id = CUPTI_INVALID_STREAM_ID;
  cuptiGetStreamIdEx(s.context, legacy || own ? nullptr : stream, own ? 1 : 0, &id);
  s.recorder.write(StreamInfo{.stream = id, .context = s.context_id, .device = s.call.device, .is_default = legacy});
  return id;
}

void allocated(SeenCall& s, Memory memory, std::uint64_t address, std::uint64_t bytes,
               std::optional<CUstream> stream = {}) {
  if (s.call.result == 0) s.recorder.allocations().add(address, bytes);
  Allocation allocation{
      .call = s.call, .memory = memory, .address = s.call.result == 0 ? address : 0, .bytes = bytes, .stream = {}};
  if (stream) allocation.stream = stream_id(s, *stream);
  s.recorder.write(allocation);
}

void released(SeenCall& s, std::uint64_t address, std::uint64_t bytes = 0, std::optional<CUstream> stream = {}) {
  if (address == 0) return;
  s.recorder.allocations().remove(address);
  Release release{.call = s.call, .address = address, .bytes = bytes, .stream = {}};
  if (stream) release.stream = stream_id(s, *stream);
  s.recorder.write(release);
}

void launched(SeenCall& s, CUfunction function, CUstream stream, void** parameters, void** extra) {
  Launch launch{.call = s.call, .stream = stream_id(s, stream), .pointers = {}};
  std::optional<std::vector<std::uint64_t>> words;
  if (!s.scan_arguments) {
    // The line goes without.
  } else if (extra != nullptr) {
    words = packed_argument_words(extra);
  } else if (parameters == nullptr) {
    words.emplace();
  } else if (const std::optional<ParameterSizes> sizes = s.layouts.of(function)) {
    words = argument_words(parameters, *sizes);
  }
  if (words) launch.pointers = s.recorder.allocations().pointers_in(*words);
  s.recorder.write(launch);
}

void copied(SeenCall& s, std::uint64_t destination, std::uint64_t source, std::uint64_t bytes,
            CUstream stream = nullptr) {
  s.recorder.write(Copy{s.call, stream_id(s, stream), destination, source, bytes});
}

// The first byte of one side of a copy of rows; arrays have no address.
std::uint64_t first_byte(CUmemorytype type, const void* host, CUdeviceptr device, std::size_t x, std::size_t y,
                         std::size_t pitch) {
  if (type == CU_MEMORYTYPE_ARRAY) return 0;
  return (type == CU_MEMORYTYPE_HOST ? number(host) : number(device)) + y * pitch + x;
}

template <typename Rows>
void copied_rows(SeenCall& s, const Rows& rows, CUstream stream = nullptr) {
  std::uint64_t bytes = std::uint64_t{rows.WidthInBytes} * rows.Height;
  if constexpr (requires { rows.Depth; }) bytes *= rows.Depth;
  copied(s, first_byte(rows.dstMemoryType, rows.dstHost, rows.dstDevice, rows.dstXInBytes, rows.dstY, rows.dstPitch),
         first_byte(rows.srcMemoryType, rows.srcHost, rows.srcDevice, rows.srcXInBytes, rows.srcY, rows.srcPitch),
         bytes, stream);
}

void set(SeenCall& s, std::uint64_t destination, std::uint64_t bytes, CUstream stream = nullptr) {
  s.recorder.write(Set{s.call, stream_id(s, stream), destination, bytes});
}

int device_of(const CUmemLocation& location) { return location.type == CU_MEM_LOCATION_TYPE_DEVICE ? location.id : -1; }

// CU_DEVICE_CPU is -1, as in our records.
void prefetched(SeenCall& s, std::uint64_t address, std::uint64_t bytes, int device, CUstream stream) {
  s.recorder.write(Prefetch{s.call, stream_id(s, stream), address, bytes, device});
}

void advised(SeenCall& s, std::uint64_t address, std::uint64_t bytes, CUmem_advise advice, int device) {
  s.recorder.write(Advise{s.call, address, bytes, static_cast<Advice>(advice), device});
}

void synchronized(SeenCall& s, Synchronize::Of of, std::uint64_t what = 0) {
  s.recorder.write(Synchronize{s.call, s.recorder.now(), of, what});
}

void add_memory(std::vector<FollowedCall>& calls) {
  UVMCAP_RETURN(cuMemAlloc_v2, allocated(s, Memory::kDevice, *p.dptr, p.bytesize));
  UVMCAP_RETURN(cuMemAllocPitch_v2, allocated(s, Memory::kDevice, *p.dptr, *p.pPitch * p.Height));
  UVMCAP_RETURN(cuMemAllocManaged, allocated(s, Memory::kManaged, *p.dptr, p.bytesize));
  UVMCAP_RETURN(cuMemAllocHost_v2, allocated(s, Memory::kPinned, number(*p.pp), p.bytesize));
  UVMCAP_RETURN(cuMemHostAlloc, allocated(s, Memory::kPinned, number(*p.pp), p.bytesize));
  UVMCAP_RETURN(cuMemHostRegister_v2, allocated(s, Memory::kRegistered, number(p.p), p.bytesize));
  UVMCAP_RETURN(cuMemMap, allocated(s, Memory::kMapped, p.ptr, p.size));
  UVMCAP_RETURN_AND(cuMemAllocAsync, _ptsz, allocated(s, Memory::kPool, *p.dptr, p.bytesize, p.hStream));
  UVMCAP_RETURN_AND(cuMemAllocFromPoolAsync, _ptsz, allocated(s, Memory::kPool, *p.dptr, p.bytesize, p.hStream));
  UVMCAP_BEGIN(cuMemFree_v2, released(s, p.dptr));
  UVMCAP_BEGIN(cuMemFreeHost, released(s, number(p.p)));
  UVMCAP_BEGIN(cuMemHostUnregister, released(s, number(p.p)));
  UVMCAP_BEGIN(cuMemUnmap, released(s, p.ptr, p.size));
  UVMCAP_BEGIN_AND(cuMemFreeAsync, _ptsz, released(s, p.dptr, 0, p.hStream));
}

void add_launches(std::vector<FollowedCall>& calls) {
  UVMCAP_BEGIN_AND(cuLaunchKernel, _ptsz, launched(s, p.f, p.hStream, p.kernelParams, p.extra));
  UVMCAP_BEGIN_AND(cuLaunchKernelEx, _ptsz, launched(s, p.f, p.config->hStream, p.kernelParams, p.extra));
  UVMCAP_BEGIN_AND(cuLaunchCooperativeKernel, _ptsz, launched(s, p.f, p.hStream, p.kernelParams, nullptr));
  UVMCAP_BEGIN_AND(cuGraphLaunch, _ptsz, s.recorder.write(GraphLaunch{s.call, stream_id(s, p.hStream)}));
}

void add_copies(std::vector<FollowedCall>& calls) {
  UVMCAP_BEGIN_AND(cuMemcpy, _ptds, copied(s, p.dst, p.src, p.ByteCount));
  UVMCAP_BEGIN_AND(cuMemcpyAsync, _ptsz, copied(s, p.dst, p.src, p.ByteCount, p.hStream));
  UVMCAP_BEGIN_AND(cuMemcpyHtoD_v2, _ptds, copied(s, p.dstDevice, number(p.srcHost), p.ByteCount));
  UVMCAP_BEGIN_AND(cuMemcpyHtoDAsync_v2, _ptsz, copied(s, p.dstDevice, number(p.srcHost), p.ByteCount, p.hStream));
  UVMCAP_BEGIN_AND(cuMemcpyDtoH_v2, _ptds, copied(s, number(p.dstHost), p.srcDevice, p.ByteCount));
  UVMCAP_BEGIN_AND(cuMemcpyDtoHAsync_v2, _ptsz, copied(s, number(p.dstHost), p.srcDevice, p.ByteCount, p.hStream));
  UVMCAP_BEGIN_AND(cuMemcpyDtoD_v2, _ptds, copied(s, p.dstDevice, p.srcDevice, p.ByteCount));
  UVMCAP_BEGIN_AND(cuMemcpyDtoDAsync_v2, _ptsz, copied(s, p.dstDevice, p.srcDevice, p.ByteCount, p.hStream));
  UVMCAP_BEGIN_AND(cuMemcpyPeer, _ptds, copied(s, p.dstDevice, p.srcDevice, p.ByteCount));
  UVMCAP_BEGIN_AND(cuMemcpyPeerAsync, _ptsz, copied(s, p.dstDevice, p.srcDevice, p.ByteCount, p.hStream));
  UVMCAP_BEGIN_AND(cuMemcpy2D_v2, _ptds, copied_rows(s, *p.pCopy));
  UVMCAP_BEGIN_AND(cuMemcpy2DUnaligned_v2, _ptds, copied_rows(s, *p.pCopy));
  UVMCAP_BEGIN_AND(cuMemcpy2DAsync_v2, _ptsz, copied_rows(s, *p.pCopy, p.hStream));
  UVMCAP_BEGIN_AND(cuMemcpy3D_v2, _ptds, copied_rows(s, *p.pCopy));
  UVMCAP_BEGIN_AND(cuMemcpy3DAsync_v2, _ptsz, copied_rows(s, *p.pCopy, p.hStream));
#if CUDA_VERSION >= 12080
  UVMCAP_BEGIN_AND(cuMemcpyBatchAsync, _ptsz,
                   for (std::size_t i = 0; i < p.count; ++i) copied(s, p.dsts[i], p.srcs[i], p.sizes[i], p.hStream));
#endif
#if CUDA_VERSION >= 13000
  UVMCAP_BEGIN_AND(cuMemcpyBatchAsync_v2, _ptsz,
                   for (std::size_t i = 0; i < p.count; ++i) copied(s, p.dsts[i], p.srcs[i], p.sizes[i], p.hStream));
#endif
}

void add_sets(std::vector<FollowedCall>& calls) {
  UVMCAP_BEGIN_AND(cuMemsetD8_v2, _ptds, set(s, p.dstDevice, p.N));
  UVMCAP_BEGIN_AND(cuMemsetD16_v2, _ptds, set(s, p.dstDevice, 2 * p.N));
  UVMCAP_BEGIN_AND(cuMemsetD32_v2, _ptds, set(s, p.dstDevice, 4 * p.N));
  UVMCAP_BEGIN_AND(cuMemsetD8Async, _ptsz, set(s, p.dstDevice, p.N, p.hStream));
  UVMCAP_BEGIN_AND(cuMemsetD16Async, _ptsz, set(s, p.dstDevice, 2 * p.N, p.hStream));
  UVMCAP_BEGIN_AND(cuMemsetD32Async, _ptsz, set(s, p.dstDevice, 4 * p.N, p.hStream));
  UVMCAP_BEGIN_AND(cuMemsetD2D8_v2, _ptds, set(s, p.dstDevice, p.Width * p.Height));
  UVMCAP_BEGIN_AND(cuMemsetD2D16_v2, _ptds, set(s, p.dstDevice, 2 * p.Width * p.Height));
  UVMCAP_BEGIN_AND(cuMemsetD2D32_v2, _ptds, set(s, p.dstDevice, 4 * p.Width * p.Height));
  UVMCAP_BEGIN_AND(cuMemsetD2D8Async, _ptsz, set(s, p.dstDevice, p.Width * p.Height, p.hStream));
  UVMCAP_BEGIN_AND(cuMemsetD2D16Async, _ptsz, set(s, p.dstDevice, 2 * p.Width * p.Height, p.hStream));
  UVMCAP_BEGIN_AND(cuMemsetD2D32Async, _ptsz, set(s, p.dstDevice, 4 * p.Width * p.Height, p.hStream));
}

void add_hints(std::vector<FollowedCall>& calls) {
  UVMCAP_BEGIN_AND(cuMemPrefetchAsync, _ptsz, prefetched(s, p.devPtr, p.count, p.dstDevice, p.hStream));
  UVMCAP_BEGIN(cuMemAdvise, advised(s, p.devPtr, p.count, p.advice, p.device));
#if CUDA_VERSION >= 12020
  UVMCAP_BEGIN_AND(cuMemPrefetchAsync_v2, _ptsz, prefetched(s, p.devPtr, p.count, device_of(p.location), p.hStream));
  UVMCAP_BEGIN(cuMemAdvise_v2, advised(s, p.devPtr, p.count, p.advice, device_of(p.location)));
#endif
}

#if CUDA_VERSION >= 13000
// Of the i-th range of a batch: location j holds from range prefetchLocIdxs[j] on.
template <typename Batch>
int batch_device(const Batch& batch, std::size_t i) {
  std::size_t location = 0;
  while (location + 1 < batch.numPrefetchLocs && batch.prefetchLocIdxs[location + 1] <= i) ++location;
  return device_of(batch.prefetchLocs[location]);
}

void discarded(SeenCall& s, std::uint64_t address, std::uint64_t bytes, std::optional<int> to, CUstream stream) {
  s.recorder.write(Discard{s.call, stream_id(s, stream), address, bytes, to});
}

void add_batches(std::vector<FollowedCall>& calls) {
  UVMCAP_BEGIN_AND(cuMemPrefetchBatchAsync, _ptsz,
                   for (std::size_t i = 0; i < p.count; ++i)
                       prefetched(s, p.dptrs[i], p.sizes[i], batch_device(p, i), p.hStream));
  UVMCAP_BEGIN_AND(cuMemDiscardBatchAsync, _ptsz,
                   for (std::size_t i = 0; i < p.count; ++i)
                       discarded(s, p.dptrs[i], p.sizes[i], std::nullopt, p.hStream));
  UVMCAP_BEGIN_AND(cuMemDiscardAndPrefetchBatchAsync, _ptsz,
                   for (std::size_t i = 0; i < p.count; ++i)
                       discarded(s, p.dptrs[i], p.sizes[i], batch_device(p, i), p.hStream));
}
#endif

void add_synchronization(std::vector<FollowedCall>& calls) {
  UVMCAP_RETURN_AND(cuStreamSynchronize, _ptsz, synchronized(s, Synchronize::Of::kStream, stream_id(s, p.hStream)));
  UVMCAP_RETURN(cuEventSynchronize, synchronized(s, Synchronize::Of::kEvent, number(p.hEvent)));
  calls.push_back({CUPTI_DRIVER_TRACE_CBID_cuCtxSynchronize, false, nullptr,
                   [](SeenCall& s, const void*) { synchronized(s, Synchronize::Of::kDevice); }});
#if CUDA_VERSION >= 13000
  calls.push_back({CUPTI_DRIVER_TRACE_CBID_cuCtxSynchronize_v2, false, nullptr,
                   [](SeenCall& s, const void*) { synchronized(s, Synchronize::Of::kDevice); }});
#endif
  UVMCAP_BEGIN_AND(cuEventRecord, _ptsz,
                   s.recorder.write(EventRecord{s.call, number(p.hEvent), stream_id(s, p.hStream)}));
  UVMCAP_BEGIN_AND(cuEventRecordWithFlags, _ptsz,
                   s.recorder.write(EventRecord{s.call, number(p.hEvent), stream_id(s, p.hStream)}));
  UVMCAP_BEGIN_AND(cuStreamWaitEvent, _ptsz,
                   s.recorder.write(EventWait{s.call, number(p.hEvent), stream_id(s, p.hStream)}));
}

}  // namespace

std::vector<FollowedCall> followed_calls(const std::vector<std::string>& kinds) {
  const auto asked = [&](const char* kind) { return std::find(kinds.begin(), kinds.end(), kind) != kinds.end(); };
  std::vector<FollowedCall> calls;
  if (asked("memory") || asked("args")) add_memory(calls);
  if (asked("kernel") || asked("args")) add_launches(calls);
  if (asked("copy")) {
    add_copies(calls);
    add_sets(calls);
  }
  if (asked("hints")) {
    add_hints(calls);
#if CUDA_VERSION >= 13000
    add_batches(calls);
#endif
  }
  if (asked("sync")) {
    const std::size_t others = calls.size();
    add_synchronization(calls);
    for (std::size_t i = others; i < calls.size(); ++i) calls[i].waits = calls[i].at_return != nullptr;
  }
  return calls;
}

}  // namespace uvmcap
