// Quantities as types: simulated time, bytes, bandwidth, and the indices of the address space.
#pragma once

#include <chrono>
#include <compare>
#include <cstdint>
#include <limits>

namespace uvmsim {

// Simulated time, in whole picoseconds: 2^63 ps is 106 days, and one byte on a PCIe 5.0 x16 link
// takes about 16 ps. Time points are durations since the start of the run.
using Duration = std::chrono::duration<std::int64_t, std::pico>;
using Time = Duration;
inline constexpr Time kNever{std::numeric_limits<std::int64_t>::max() / 4};

constexpr double seconds(Duration d) { return static_cast<double>(d.count()) * 1e-12; }
constexpr Duration from_seconds(double s) {
  return Duration{static_cast<std::int64_t>(s * 1e12 + (s < 0 ? -0.5 : 0.5))};
}
constexpr Duration nanoseconds(std::int64_t ns) { return Duration{ns * 1000}; }
constexpr Duration microseconds(double us) { return from_seconds(us * 1e-6); }

// A signed amount of one thing. `Tag` is the thing.
template <class Tag>
struct Quantity {
  std::int64_t value = 0;

  friend constexpr auto operator<=>(Quantity, Quantity) = default;
  friend constexpr Quantity operator+(Quantity a, Quantity b) { return {a.value + b.value}; }
  friend constexpr Quantity operator-(Quantity a, Quantity b) { return {a.value - b.value}; }
  friend constexpr Quantity operator*(Quantity a, std::int64_t n) { return {a.value * n}; }
  friend constexpr Quantity operator/(Quantity a, std::int64_t n) { return {a.value / n}; }
  constexpr Quantity& operator+=(Quantity other) { return *this = *this + other; }
  constexpr Quantity& operator-=(Quantity other) { return *this = *this - other; }
};

using Bytes = Quantity<struct BytesTag>;
using BytesPerSecond = Quantity<struct BytesPerSecondTag>;

// The time `size` takes at `rate`; a rate of zero or less means "infinitely fast".
constexpr Duration transfer_time(Bytes size, BytesPerSecond rate) {
  if (rate.value <= 0) return Duration{0};
  return from_seconds(static_cast<double>(size.value) / static_cast<double>(rate.value));
}

// Which one of the things of one kind, counted from 0. `Tag` is the kind: indices of two kinds do not mix, and
// an integer is an index only where the code says so. Counts are plain numbers, and so is the distance of two indices.
template <class Tag, class Number = std::uint32_t>
struct Index {
  Number value = 0;

  constexpr Index() = default;
  constexpr explicit Index(Number number) : value(number) {}

  friend constexpr auto operator<=>(Index, Index) = default;
  friend constexpr Index operator+(Index a, Number n) { return Index{a.value + n}; }
  friend constexpr Index operator-(Index a, Number n) { return Index{a.value - n}; }
  friend constexpr Number operator-(Index a, Index b) { return a.value - b.value; }
  constexpr Index& operator++() {
    ++value;
    return *this;
  }
  constexpr Index operator++(int) {
    const Index before = *this;
    ++value;
    return before;
  }
};

inline constexpr std::int64_t kPageBytes = 4096;      // x86 PAGE_SIZE
inline constexpr std::int64_t kBigPageBytes = 65536;  // UVM_PAGE_SIZE_64K
inline constexpr std::int64_t kBlockBytes = 2 << 20;  // UVM_VA_BLOCK_SIZE, also a root chunk
inline constexpr std::uint32_t kPagesPerBlock = 512;
inline constexpr std::uint32_t kPagesPerBigPage = 16;

// A virtual address of one VaSpace.
using VirtualAddress = std::uint64_t;

// Where a VaSpace starts handing out managed memory; frame 0 begins here.
inline constexpr VirtualAddress kManagedBase = 0x7f0000000000ULL;

// A 2 MiB-aligned 2 MiB of managed virtual address space, counted from kManagedBase. Whole VA blocks
// are one frame; advice may cut a frame into several ragged VA blocks.
using FrameIndex = Index<struct FrameTag>;

// A 4 KiB page of managed virtual address space, counted from kManagedBase: frame * 512 + page.
using PageNumber = Index<struct PageTag>;

constexpr PageNumber page_of(VirtualAddress a) {
  return PageNumber{static_cast<std::uint32_t>((a - kManagedBase) / kPageBytes)};
}
constexpr VirtualAddress address_of(PageNumber p) {
  return kManagedBase + static_cast<VirtualAddress>(p.value) * kPageBytes;
}
constexpr FrameIndex frame_of(PageNumber p) { return FrameIndex{p.value / kPagesPerBlock}; }
constexpr std::uint32_t page_in_frame(PageNumber p) { return p.value % kPagesPerBlock; }
constexpr PageNumber first_page_of(FrameIndex f) { return PageNumber{f.value * kPagesPerBlock}; }

// A GPU: its place in Machine::gpus.
using GpuIndex = Index<struct GpuTag, int>;

// A device of a program or of a trace; each process that runs it maps it to a GPU of the machine.
using DeviceOrdinal = Index<struct DeviceTag, int>;

// The host or one GPU. The host is 0, as in the driver (UVM_ID_CPU); GPU n is n + 1.
struct ProcessorId {
  std::int8_t value = 0;
  static constexpr ProcessorId cpu() { return {0}; }
  static constexpr ProcessorId gpu(GpuIndex index) { return {static_cast<std::int8_t>(index.value + 1)}; }
  constexpr bool is_cpu() const { return value == 0; }
  constexpr GpuIndex gpu_index() const { return GpuIndex{value - 1}; }
  friend constexpr auto operator<=>(ProcessorId, ProcessorId) = default;
};

// Access types in increasing intrusiveness. Driver: UVM_FAULT_ACCESS_TYPE_*.
enum class AccessType : std::uint8_t { Prefetch, Read, Write, AtomicWeak, AtomicStrong };

}  // namespace uvmsim
