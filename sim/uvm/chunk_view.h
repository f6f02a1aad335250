// One GPU's chunks as eviction policies see them.
#pragma once

#include "uvm/eviction/eviction_policy.h"
#include "uvm/pmm.h"

namespace uvmsim {

struct DriverState;
class ProgramWatch;

class ChunkView final : public EvictionView {
 public:
  ChunkView(DriverState& driver, GpuIndex gpu, const Pmm& memory) : driver_(driver), gpu_(gpu), memory_(memory) {}

  RootChunkIndex chunk_count() const override { return memory_.chunk_count(); }
  bool evictable(RootChunkIndex chunk) const override {
    return memory_.on_list(chunk) && (!memory_.fresh(chunk) || only_fresh());
  }
  RootChunkIndex head(ChunkList list) const override { return memory_.head(list); }
  RootChunkIndex next(RootChunkIndex chunk) const override { return memory_.next(chunk); }
  std::int64_t listed(ChunkList list) const override { return memory_.listed(list); }
  std::int64_t total_chunks() const override { return memory_.total(); }
  std::int64_t free_chunks() const override { return memory_.free(); }
  FrameIndex frame(RootChunkIndex chunk) const override { return memory_.frame(chunk); }
  PageRegion pages(RootChunkIndex chunk) const override { return memory_.pages(chunk); }
  int va_space(RootChunkIndex chunk) const override { return memory_.va_space(chunk); }
  ChunkContents contents(RootChunkIndex chunk) const override;
  std::vector<RootChunkIndex> neighbours(RootChunkIndex chunk) const override;
  bool holds_only(RootChunkIndex chunk, const std::vector<std::string>& kinds) const override;
  bool expected(RootChunkIndex chunk) const override;
  bool in_use(RootChunkIndex chunk) const override;
  ProgramPosition next_use(RootChunkIndex chunk) const override;

 private:
  // Whether the fault batch in progress brought all chunks that are on a list. The heads are the oldest.
  bool only_fresh() const;
  const ProgramWatch* watch(RootChunkIndex chunk) const;

  DriverState& driver_;
  GpuIndex gpu_;
  const Pmm& memory_;
};

}  // namespace uvmsim
