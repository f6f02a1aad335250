// Thrashing detection.
#pragma once

namespace uvmsim {

class ThrashingBlock {};

}  // namespace uvmsim
