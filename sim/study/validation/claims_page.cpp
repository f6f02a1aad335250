#include "study/validation/claims_page.h"

#include <algorithm>
#include <set>

#include "report/markdown.h"
#include "study/validation/score_text.h"

namespace uvmsim {
namespace {

std::string verdict(const Score& claim) {
  if (claim.of->input) return "input";
  if (!claim.failure.empty()) return "no result";
  return claim.inside ? "same" : "missed";
}

std::string remark(const Score& claim) {
  std::string why = claim.of->why;
  if (!claim.failure.empty()) why += (why.empty() ? "" : "; ") + claim.failure.substr(0, claim.failure.find('\n'));
  return why;
}

std::string summary(const std::vector<Score>& claims) {
  std::set<const CaseFamily*> systems;
  for (const Score& claim : claims) systems.insert(claim.family);
  const auto judged = [](const Score& claim) { return !claim.of->input; };
  const auto same = [&](const Score& claim) { return judged(claim) && claim.inside; };
  return std::to_string(std::ranges::count_if(claims, same)) + " of " +
         std::to_string(std::ranges::count_if(claims, judged)) + " claims of " + std::to_string(systems.size()) +
         " systems come out as published.\n";
}

}  // namespace

std::string claims_page(const std::vector<Score>& claims) {
  std::string text =
      "# What papers claim beside what comes out here\n\n"
      "Written by `uvmsim validate --role claim --results validation`; one system again: `uvmsim validate --verbose\n"
      "validation/claims/SYSTEM.json`, which has the experiments. \"Same\" is the sign, the order and the size within "
      "the range,\n"
      "which is not widened to fit; a claim that is missed stays. An *input* follows from what the case was told and "
      "counts for\n"
      "nothing. Networks, batches and kernel times are ours where the paper's are not public. Nothing is fitted to any "
      "of this.\n\n" +
      summary(claims) + "\n" +
      markdown_header({"system", "claim", "published", "ours", "counts as the same", "verdict", "why"});
  const CaseFamily* last = nullptr;
  for (const Score& claim : claims) {
    text += markdown_row({claim.family == last ? "" : claim.family->title, claim.in->name, measured_text(*claim.of),
                          predicted_text(claim), tolerance_text(*claim.of), verdict(claim), remark(claim)});
    last = claim.family;
  }
  text += "\n## Sources\n\n";
  std::set<std::string> named;
  for (const Score& claim : claims)
    if (named.insert(claim.family->name).second)
      text += "* " + claim.family->title + ": " + claim.family->origin + "\n";
  return text;
}

}  // namespace uvmsim
