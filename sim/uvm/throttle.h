// Where thrashing detection meets the service of faults: events in, hints out, and mappings of pinned pages.
//
// Source: driver specification, sections 5.1 to 5.3.
#pragma once

#include "uvm/make_resident.h"
#include "uvm/service.h"

namespace uvmsim {

// Pages were copied to `change.to`. Faults, access counters and their prefetches are events; evictions are ignored; everything
// else (explicit migration, read duplication, non-replayable faults) resets the pages.
void note_migration(DriverState& driver, const ResidencyChange& change, const PageMask& copied);

// What the thrashing module says about a fault on `page` of the block.
ThrashingHint thrashing_hint(DriverState& driver, const ServiceRequest& request, std::uint32_t page);

// Maps pinned pages for the processors that fought over them and can reach where they are.
void map_pinned(DriverState& driver, BlockHandle block, const PageMask& pages, const DriverCosts& costs,
                BlockWork& work);

// Ends the pins of the VaSpace whose time is over: remote mappings go, so that the next access faults.
void end_pins(DriverState& driver, int va_space, Time now, BlockWork& work);

}  // namespace uvmsim
