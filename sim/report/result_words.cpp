#include "report/result_words.h"

#include <algorithm>
#include <cctype>
#include <iterator>
#include <sstream>

#include "report/json.h"

namespace uvmsim {
namespace {

// What tables say and no key of the JSON has as its name.
const std::vector<ResultWord>& table_words() {
  static const std::vector<ResultWord> words = {
      {"in core", "",
       "a reference: the same program on the same machine with unlimited GPU memory, so nothing is evicted; "
       "managed memory that the host wrote still comes in once, by faults"},
      {"slowdown", "1",
       "the time of an iteration over that of the same program with plain cudaMalloc on GPUs that are large enough "
       "(cudaMalloc in the table): what Unified Memory and too little memory cost together. "
       "summary.in_core_slowdown is what too little memory costs alone"},
      {"cudaMalloc", "",
       "a reference: the same program on the same machine with cudaMalloc instead of managed memory, on GPUs that are "
       "large enough; where the host touches its data, cudaMemcpy copies it"},
      {"speed-up", "1", "the time of an iteration under the first policy over that under this one"},
      {"fault batch", "batches", "what the driver takes from the GPU's fault buffer at a time, up to 256 entries"},
      {"fault group", "groups", "a fault batch that serviced at least one fault; nvprof counts these"},
      {"fault entry", "entries",
       "all faults of a batch on one page with one access type, however many warps wait for the page"},
      {"serviced fault", "faults", "a fault entry that made a page accessible; the page was not yet mapped"},
      {"CPU fault", "faults", "a page fault of the host on managed memory"},
      {"evicted chunk", "chunks", "2 MiB of GPU memory whose content left to make room"},
      {"copy", "copies", "a run of adjacent pages moved for one cause; profilers show it as one migration"},
      {"prefetched", "B", "bytes that moved, or became resident, without a fault that asked for them"},
      {"dead", "B", "bytes brought in whose content nobody reads: they are freed or overwritten first"},
      {"lost", "s",
       "how much longer copies took than they would have alone, because they shared a link; each copy counts at the "
       "link that gave it the least bandwidth"},
      {"busy", "%", "the share of the time in which the link had a copy under way"},
      {"compute", "s", "a kernel runs, and the driver services no fault batch of this GPU"},
      {"idle", "s", "the stream is empty: the host has not issued any more work"},
      {"usable memory", "B",
       "what a program can have of a GPU's memory (machine.gpu.usable_memory); the CUDA context and the driver take "
       "the rest"},
      {"oversubscribed", "1",
       "more memory is asked for than the GPU has; the ratio is what the allocator reserved over the usable memory"},
      {"driver allocation", "calls",
       "a call of cudaMalloc, cudaMallocManaged or cuMemMap by the framework's allocator"},
      {"cache flush", "flushes", "the allocator returned its cache because the driver had no memory left"},
      {"fragmented", "%", "the share of the allocator's free memory that is not in its largest free block"},
      {"warm-up", "iterations", "iterations before the measured ones (run.warmup)"},
      {"steady", "",
       "the state of memory at the end of an iteration repeats: with period 2, every other iteration is the "
       "same; without a steady cycle, more iterations may give another mean"},
      {"band", "",
       "where to expect the true value in four cases out of five, judging by how far off predictions of "
       "measured times were"},
      {"measured", "", "status of a value: its source measured it"},
      {"fitted", "", "status of a value: it was fitted to measured runs"},
      {"scaled", "", "status of a value: it was computed from what was measured on a similar machine"},
      {"assumed", "", "status of a value: nobody measured it, and its source says where it comes from"}};
  return words;
}

// "Fault Groups" and "fault_group" are the same.
std::string plain(std::string_view text) {
  std::string word;
  for (const char c : text)
    word += c == '_' || c == '-' ? ' ' : static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  if (word.size() > 4 && word.ends_with("ies")) return word.substr(0, word.size() - 3) + "y";
  if (word.size() > 4 && word.ends_with("ches")) return word.substr(0, word.size() - 2);
  if (word.size() > 3 && word.ends_with('s') && !word.ends_with("ss")) word.pop_back();
  return word;
}

// The cells of a line of a table of Markdown.
std::vector<std::string> cells_of(const std::string& line) {
  std::vector<std::string> cells;
  for (std::size_t start = line.find("| "); start != std::string::npos;) {
    const std::size_t end = line.find(" |", start + 1);
    if (end == std::string::npos) break;
    cells.push_back(end > start + 2 ? line.substr(start + 2, end - start - 2) : "");
    start = end + 1;
  }
  return cells;
}

}  // namespace

std::vector<ResultWord> result_words_like(std::string_view text) {
  const std::string wanted = plain(text);
  std::vector<ResultWord> found;
  std::ranges::copy_if(table_words(), std::back_inserter(found),
                       [&](const ResultWord& word) { return (" " + plain(word.word)).ends_with(" " + wanted); });
  std::istringstream page(report_documentation());
  for (std::string line; std::getline(page, line);) {
    const std::vector<std::string> cells = cells_of(line);  // key, type, unit, meaning
    if (cells.size() != 4 || !cells[0].starts_with('`')) continue;
    const std::string key = cells[0].substr(1, cells[0].size() - 2);
    if (plain(key.substr(key.rfind('.') + 1)) == wanted) found.push_back({key, cells[2], cells[3]});
  }
  return found;
}

}  // namespace uvmsim
