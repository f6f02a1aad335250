// The words that plans use in JSON, by the value of the enumerator.
#pragma once

#include <string>
#include <vector>

#include "plan/plan.h"

namespace uvmsim {

inline const std::vector<std::string> kTriggerNames = {"before_kernel", "after_kernel", "access"};
inline const std::vector<std::string> kSyncNames = {"none", "stream", "layer", "alloc", "host"};
inline const std::vector<std::string> kKeepNames = {"interval", "use"};
inline const std::vector<std::string> kReleaseNames = {"copy_done", "reclaim"};
inline const std::vector<std::string> kCallNames = {"prefetch", "advise", "discard", "discard_lazy"};
inline const std::vector<std::string> kCallStreamNames = {"kernel", "side"};
// By trace::Advice - 1.
inline const std::vector<std::string> kAdviceNames = {"read_mostly", "preferred_location", "accessed_by"};

}  // namespace uvmsim
