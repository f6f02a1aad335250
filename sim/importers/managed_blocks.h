// Managed memory that no table names, from the addresses that moved or faulted.
#pragma once

#include <cstdint>
#include <map>
#include <vector>

namespace uvmsim {

class ManagedBlocks {
 public:
  struct Range {
    std::uint64_t address = 0;
    std::int64_t bytes = 0;
  };

  // What moved or faulted at once. It is cut at the driver's VA block of 2 MiB (uvm_va_block.h), which no migration
  // of the driver crosses.
  void add(std::uint64_t address, std::int64_t bytes);

  // Blocks that follow each other are one range, from the first byte that was seen to the last. A gap of a whole block
  // or more ends one: two allocations are told apart where the first one's end was not touched, else they are one.
  std::vector<Range> ranges() const;

 private:
  struct Seen {
    std::uint64_t first = 0, last = 0;
  };
  std::map<std::uint64_t, Seen> blocks_;  // by number
};

}  // namespace uvmsim
