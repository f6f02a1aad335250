#pragma once

#include <cstddef>
#include <cupti.h>

// The types of CUPTI's records by the toolkit that this is built with: CMake tries which exist (UVMCAP_HAVE_*). CUPTI
// appends to a record and names the result anew, so the fields that are read stand at the same places in all of them;
// the assertions below say where.
namespace uvmcap {

#if defined(UVMCAP_HAVE_KERNEL10)
using KernelRecord = CUpti_ActivityKernel10;
#else
using KernelRecord = CUpti_ActivityKernel9;
#endif

#if defined(UVMCAP_HAVE_MEMCPY6)
using MemcpyRecord = CUpti_ActivityMemcpy6;
#else
using MemcpyRecord = CUpti_ActivityMemcpy5;
#endif

#if defined(UVMCAP_HAVE_DEVICE5)
using DeviceRecord = CUpti_ActivityDevice5;
#else
using DeviceRecord = CUpti_ActivityDevice4;
#endif

using PeerRecord = CUpti_ActivityMemcpyPtoP4;
using MemsetRecord = CUpti_ActivityMemset4;
// Newer runtimes append to it; what is read is the 64 bytes that all have.
using UnifiedMemoryRecord = CUpti_ActivityUnifiedMemoryCounter2;

static_assert(offsetof(KernelRecord, start) == 16 && offsetof(KernelRecord, deviceId) == 40);
static_assert(offsetof(KernelRecord, correlationId) == 92 && offsetof(KernelRecord, name) == 104);
static_assert(offsetof(KernelRecord, graphNodeId) == 144);
static_assert(offsetof(MemcpyRecord, bytes) == 8 && offsetof(MemcpyRecord, correlationId) == 44);
static_assert(offsetof(PeerRecord, bytes) == 8 && offsetof(PeerRecord, correlationId) == 60);
static_assert(offsetof(MemsetRecord, bytes) == 8 && offsetof(MemsetRecord, correlationId) == 44);
static_assert(offsetof(MemsetRecord, memoryKind) == 50);
static_assert(sizeof(UnifiedMemoryRecord) == 64 && offsetof(UnifiedMemoryRecord, flags) == 56);

// Whether somebody read these layouts beside the documentation: so far of CUDA 13.
inline constexpr bool kLayoutsVerified = CUPTI_API_VERSION >= 130000;

}  // namespace uvmcap
