#include "engine/tensor_contents.h"

#include <algorithm>

namespace uvmsim {

ContentsLog::ContentsLog(const Program& program) : program_(program) {
  for (const Op& op : program.ops)
    if (const auto* again = std::get_if<op::Relaunch>(&op)) found_.try_emplace(&program_.ops[again->kernel]);
}

std::string ContentsLog::use(const Op* op, const ContentsUse& use, Contents& contents) {
  if (use.needs() && contents.lost) return "its contents were dropped";
  if (use.needs() && contents.version != contents.newest) return "its contents were made again in part only";
  if (const auto log = found_.find(op); log != found_.end()) log->second.emplace_back(use.tensor, contents.newest);
  if (use.overwrites) contents.lost = false;
  if (use.writes) contents.version = ++contents.newest;
  return "";
}

// What the kernel itself made last may be there: an update in place (a batch norm's running statistics) is not applied
// twice. What others wrote since may not.
std::string ContentsLog::use_again(const Op& op, const ContentsUse& use, Contents& contents) const {
  const auto& log = found_.at(&op);
  const auto found = std::ranges::find(log, use.tensor, &std::pair<VirtualAddress, std::int64_t>::first);
  if (found == log.end()) return "the kernel has not run yet";
  const std::int64_t before = found->second, after = before + (use.writes ? 1 : 0);
  if (use.needs() && contents.lost) return "its contents were dropped";
  if (use.needs() && contents.version != before && contents.version != after)
    return "its contents are not those of the first run";
  if (use.writes && !contents.lost && contents.version > after) return "others have written to it since";
  if (use.writes) contents.version = after, contents.lost = false;
  return "";
}

}  // namespace uvmsim
