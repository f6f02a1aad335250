// Cutting a VA block in two, when advice on a part of it differs. Source: driver specification, section 1.1;
// uvm_va_block.c: uvm_va_block_split.
#pragma once

#include "uvm/driver_state.h"

namespace uvmsim {

// Cuts the block before `page` of its frame. Both parts are ragged from then on: a 2 MiB GPU chunk becomes
// sub-chunks of one split root chunk, host chunks become smaller ones.
void split_block(DriverState& driver, BlockHandle handle, std::uint32_t page);

}  // namespace uvmsim
