#include "uvm/va_block.h"

#include "uvm/thrashing.h"

namespace uvmsim {
namespace {
const PageMask kNoPages;
}

RareBlockState::RareBlockState() = default;
RareBlockState::~RareBlockState() = default;
VaBlock::VaBlock() = default;
VaBlock::~VaBlock() = default;
VaBlock::VaBlock(VaBlock&&) noexcept = default;
VaBlock& VaBlock::operator=(VaBlock&&) noexcept = default;

GpuBlockState* VaBlock::find_gpu(GpuIndex gpu) {
  for (GpuBlockState& state : gpus)
    if (state.gpu == gpu) return &state;
  return nullptr;
}

GpuBlockState& VaBlock::gpu(GpuIndex gpu) {
  if (GpuBlockState* state = find_gpu(gpu)) return *state;
  GpuBlockState& state = gpus.emplace_back();
  state.gpu = gpu;
  return state;
}

RareBlockState& VaBlock::make_rare() {
  if (!rare) rare = std::make_unique<RareBlockState>();
  return *rare;
}

const PageMask& VaBlock::resident(ProcessorId where) const {
  if (where.is_cpu()) return cpu.resident;
  const GpuBlockState* state = find_gpu(where.gpu_index());
  return state ? state->resident : kNoPages;
}

PageMask VaBlock::resident_anywhere() const {
  PageMask out = cpu.resident;
  for (const GpuBlockState& state : gpus) out |= state.resident;
  return out;
}

ProcessorSet VaBlock::holders(std::uint32_t page) const {
  ProcessorSet out;
  if (cpu.resident.test(page)) out.insert(ProcessorId::cpu());
  for (const GpuBlockState& state : gpus)
    if (state.resident.test(page)) out.insert(ProcessorId::gpu(state.gpu));
  return out;
}

PageMask VaBlock::thrashing_pages() const {
  return rare && rare->thrashing ? rare->thrashing->thrashing() : PageMask{};
}

PageMask VaBlock::cpu_backed() const {
  if (cpu.whole_chunk) return PageMask::all();
  PageMask out = cpu.small_pages ? *cpu.small_pages : PageMask{};
  for (std::uint32_t bits = cpu.big_chunks; bits != 0; bits &= bits - 1) {
    const std::uint32_t first = static_cast<std::uint32_t>(std::countr_zero(bits)) * kPagesPerBigPage;
    out.set(PageRegion{first, first + kPagesPerBigPage});
  }
  return out;
}

PageMask VaBlock::gpu_backed(const GpuBlockState& state) const {
  if (state.root != kNoRootChunk) return pages();
  PageMask out;
  for (const SubChunk& chunk : state.sub_chunks) out.set(chunk.region());
  return out;
}

}  // namespace uvmsim
