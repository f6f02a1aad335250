#include <algorithm>
#include <nlohmann/json.hpp>
#include <utility>

#include "base/join.h"
#include "base/number_text.h"
#include "base/shell_word.h"
#include "report/json_fields.h"
#include "report/report_fields.h"
#include "report/table.h"
#include "report/text.h"
#include "study/advice/advise.h"

namespace uvmsim {
namespace {

using Json = nlohmann::ordered_json;

constexpr std::size_t kWidth = 98, kShortList = 5;

// What prevented a result; "" when there is one. The first line: checkers list every fault.
std::string failure(const Trial& trial) {
  const std::string text = trial.result ? (trial.completed() ? "" : trial.result->detail) : trial.error;
  return text.substr(0, text.find('\n'));
}

std::string gain_text(const Trial& trial) {
  std::string text = number_text(trial.gain) + "x";
  if (trial.gain_low > 0) text += " (" + number_text(trial.gain_low) + "x to " + number_text(trial.gain_high) + "x)";
  return text;
}

std::string command_of(const Advice& advice, const Candidate& candidate) {
  std::string command = advice.command;
  if (!candidate.machine.empty()) command += " --set " + shell_word("machine=" + candidate.machine);
  for (const std::string& setting : candidate.settings) command += " --set " + shell_word(setting);
  return command;
}

std::string memory_text(const Advice& advice) {
  const Setup& setup = advice.setup;
  const double share = static_cast<double>(advice.need_bytes) / static_cast<double>(setup.usable_memory_bytes);
  std::string text = std::string(advice.fits ? "Yes" : "No") + ": it takes " + bytes_text(advice.need_bytes) +
                     " of a GPU, " + number_text(share) + "x of the " + bytes_text(setup.usable_memory_bytes) +
                     " that can be used.";
  if (!advice.batch) return text;
  if (!advice.largest_batch) return text + " The largest batch that fits was not found in the time.";
  if (*advice.largest_batch == 0) return text + " Not even the smallest batch fits.";
  return text + " The largest batch that fits is " + std::to_string(*advice.largest_batch) + ".";
}

std::string time_text(const Advice& advice) {
  if (!advice.now.completed())
    return advice.now.tried ? "It did not complete: " + failure(advice.now) + "."
                            : "There was no time to find out; give more with --budget.";
  const Result& now = *advice.now.result;
  std::string text = "An iteration takes " + seconds_text(now.duration_s);
  if (advice.now.band)
    text += " (" + percent_text(advice.now.band->level) + " band: " + seconds_text(advice.now.band->low_s) + " to " +
            seconds_text(advice.now.band->high_s) + ")";
  text += " with " + advice.setup.memory + " memory";
  if (now.samples > 0) text += ", " + number_text(now.samples / now.duration_s) + " " + now.sample_unit + "/s";
  if (!advice.in_core.completed()) return text + ".";
  const double in_core_s = advice.in_core.result->duration_s;
  return text + "; that is " + number_text(now.duration_s / in_core_s) + " times as long as with enough memory (" +
         seconds_text(in_core_s) + ").";
}

// The batch with the most samples per second, of those that were tried.
std::string batch_text(const Advice& advice) {
  const Trial* best = advice.best_batch();
  if (best == nullptr || best->result->samples <= 0) return "";
  std::vector<std::string> tried;
  for (const Trial& trial : advice.trials)
    if (trial.candidate.kind == "batch" && trial.completed()) tried.push_back(trial.candidate.name.substr(6));
  if (tried.empty()) return "";
  const std::string name =
      best == &advice.now ? "batch " + std::to_string(*advice.batch) + ", as it is" : best->candidate.name;
  return "\nWhich batch is best?\n" +
         wrapped("Of those tried, most samples go through at " + name + ": " +
                     number_text(best->result->samples / best->result->duration_s) + " " + best->result->sample_unit +
                     "/s. Tried besides " + std::to_string(*advice.batch) + ": " + joined(tried) + ".",
                 "  ", kWidth);
}

// What a trial on the same iteration spends more time on than `now`, the most of it; "" where nothing grew.
std::string cause_of_loss(const Result& now, const Result& trial) {
  TimeSplit before, after;
  for (const GpuResult& gpu : now.gpus) before = before + gpu.time_split_s;
  for (const GpuResult& gpu : trial.gpus) after = after + gpu.time_split_s;
  static const std::vector<std::pair<double TimeSplit::*, std::string>> kCauses = {
      {&TimeSplit::fault_cpu_s, "fault handling"},
      {&TimeSplit::eviction_s, "evictions"},
      {&TimeSplit::copy_in_s, "copies in"},
      {&TimeSplit::link_wait_s, "waiting for a shared link"},
      {&TimeSplit::compute_s, "kernels"},
      {&TimeSplit::transfer_s, "copies and prefetches that no kernel hides"},
      {&TimeSplit::collective_s, "collectives"},
      {&TimeSplit::idle_s, "an idle GPU"}};
  const auto more = [&](const auto& cause) { return after.*cause.first - before.*cause.first; };
  const auto most = std::ranges::max_element(kCauses, {}, more);
  return more(*most) > 0 ? "more time in " + most->second : "";
}

// Why a trial is not on the short list.
std::string reason(const Advice& advice, const Trial& trial) {
  if (!trial.completed()) return "did not run: " + failure(trial);
  if (trial.gain == 0)
    return seconds_text(trial.result->duration_s) + " an iteration; what that gains over demand paging is not known";
  std::string text = gain_text(trial);
  if (!trial.told_apart) return text + ": inside the error of no change at all";
  if (trial.gain > 1) return text + ": faster, but less so than those above; " + trial.candidate.change;
  const bool same_work = trial.candidate.kind == "policy" || trial.candidate.kind == "allocator";
  const std::string cause = same_work ? cause_of_loss(*advice.now.result, *trial.result) : "";
  return text + ": slower" + (cause.empty() ? "" : ", " + cause);
}

std::string listed(const Advice& advice, const Trial& trial, std::size_t place) {
  const Candidate& candidate = trial.candidate;
  const std::string indent(5, ' ');
  std::string text = wrapped(gain_text(trial) + "  " + candidate.name + ": " + candidate.meaning, indent, kWidth);
  text.replace(0, indent.size(), "  " + std::to_string(place) + ". ");
  text += wrapped("change: " + candidate.change, indent, kWidth);
  if (!candidate.needs.empty()) text += wrapped("needs:  " + candidate.needs, indent, kWidth);
  return text + indent + "try:    " + command_of(advice, candidate) + "\n";
}

std::string short_list(const Advice& advice, const std::vector<const Trial*>& gains) {
  if (gains.empty())
    return advice.now.completed() ? "\nNothing that was tried helps by more than the error of its prediction.\n" : "";
  const Throughput now = throughput_of(*advice.now.result).value();  // it completed: the gains are over it
  std::string text = "\nWhat to change, best first: " + now.unit + " against now, with " +
                     std::string(gains.front()->gain_low > 0 ? "the " + percent_text(kBandLevel) + " band of the gain\n"
                                                             : "no errors published\n");
  for (std::size_t i = 0; i < std::min(gains.size(), kShortList); ++i) text += listed(advice, *gains[i], i + 1);
  std::vector<std::string> close;
  for (const Trial* trial : gains)
    if (trial != gains.front() && trial->gain_high > gains.front()->gain) close.push_back(trial->candidate.name);
  if (!close.empty())
    text += wrapped("The best of them are inside one another's error: " + gains.front()->candidate.name +
                        " need not beat " + joined(close) + ".",
                    "  ", kWidth);
  return text;
}

std::string the_others(const Advice& advice, const std::vector<const Trial*>& gains) {
  std::vector<const Trial*> shown(gains.begin(),
                                  gains.begin() + std::min<std::ptrdiff_t>(std::ssize(gains), kShortList));
  std::string lost;
  std::vector<std::string> untried;
  for (const Trial& trial : advice.trials) {
    if (!trial.tried)
      untried.push_back(trial.candidate.name);
    else if (std::ranges::find(shown, &trial) == shown.end())
      lost += wrapped(trial.candidate.name + "  " + reason(advice, trial), "  ", kWidth);
  }
  std::string text;
  if (!lost.empty()) text += "\nWhy not the others\n" + lost;
  if (!untried.empty())
    text +=
        "\nNot tried in " + number_text(advice.budget_s) + " s (--budget)\n" + wrapped(joined(untried), "  ", kWidth);
  return text;
}

Json json_of(const Advice& advice, const Trial& trial) {
  const Candidate& candidate = trial.candidate;
  Json json = {{"kind", candidate.kind},
               {"name", candidate.name},
               {"meaning", candidate.meaning},
               {"change", candidate.change},
               {"needs", candidate.needs},
               {"set", candidate.settings},
               {"try", command_of(advice, candidate)},
               {"tried", trial.tried},
               {"completed", trial.completed()}};
  if (trial.tried && !trial.completed()) json["error"] = failure(trial);
  if (!trial.completed()) return json;
  json["duration_s"] = trial.result->duration_s;
  if (trial.band) {
    json["duration_low_s"] = trial.band->low_s;
    json["duration_high_s"] = trial.band->high_s;
  }
  if (trial.gain == 0) return json;
  json["gain"] = trial.gain;
  if (trial.gain_low > 0) {
    json["gain_low"] = trial.gain_low;
    json["gain_high"] = trial.gain_high;
    json["told_apart"] = trial.told_apart;
  }
  return json;
}

// The name of a trial; "" for what runs now.
Json best_batch_of(const Advice& advice) {
  const Trial* best = advice.best_batch();
  return best == nullptr ? Json(nullptr) : Json(best->candidate.name);
}

Json duration_of(const Trial& trial) { return trial.completed() ? Json(trial.result->duration_s) : Json(nullptr); }

}  // namespace

std::string to_text(const Advice& advice) {
  const std::vector<const Trial*> gains = advice.gains();
  std::string text = advice.experiment + "\n";
  if (!advice.description.empty()) text += wrapped(advice.description, "  ", kWidth);
  text += setup_text(advice.setup);
  text += "\nDoes it fit?\n" + wrapped(memory_text(advice), "  ", kWidth);
  text += "\nHow slow is it?\n" + wrapped(time_text(advice), "  ", kWidth);
  text += batch_text(advice);
  return text + short_list(advice, gains) + the_others(advice, gains);
}

std::string to_json(const Advice& advice) {
  Json json = {{"experiment", advice.experiment},
               {"description", advice.description},
               {"setup", json_of(advice.setup)},
               {"budget_s", advice.budget_s},
               {"fits", advice.fits},
               {"need_bytes", advice.need_bytes},
               {"usable_bytes", advice.setup.usable_memory_bytes},
               {"batch", advice.batch ? Json(*advice.batch) : Json(nullptr)},
               {"largest_batch", advice.largest_batch ? Json(*advice.largest_batch) : Json(nullptr)},
               {"best_batch", best_batch_of(advice)},
               {"in_core_duration_s", duration_of(advice.in_core)},
               {"duration_s", duration_of(advice.now)}};
  json["duration_low_s"] = advice.now.band ? Json(advice.now.band->low_s) : Json(nullptr);
  json["duration_high_s"] = advice.now.band ? Json(advice.now.band->high_s) : Json(nullptr);
  json["advice"] = Json::array();
  for (const Trial* trial : advice.gains()) json["advice"].push_back(trial->candidate.name);
  json["trials"] = Json::array();
  for (const Trial& trial : advice.trials) json["trials"].push_back(json_of(advice, trial));
  return json.dump(2) + "\n";
}

}  // namespace uvmsim
