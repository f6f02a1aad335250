// What differs between two results.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace uvmsim {

// One value of a config or a result that is not the same in both. JSON texts; "" where only the other has it.
struct Change {
  std::string name;  // "driver.uvm_perf_prefetch_threshold", "summary.totals.h2d_bytes", "summary.gpus[0].duration_s"
  std::string before, after;

  // after / before - 1; nullopt when they are no numbers, or `before` is 0.
  std::optional<double> relative() const;
};

struct ResultDiff {
  std::vector<Change> config;  // what was changed
  std::vector<Change> result;  // what that changed, without `run`: outcome, detail, summary, links
};

// A result as `uvmsim run --json` prints it, with the resolved config that `uvmsim run -o` keeps, or "".
struct ResultText {
  std::string result;
  std::string config;
};

// The differences, in the order of the first's names; names that only the second has come last. Configs are compared
// when both are given. Throws UserError, naming `before_name` or `after_name`, for what is no result.
ResultDiff diff_results(const ResultText& before, const std::string& before_name, const ResultText& after,
                        const std::string& after_name);

// Tables. Without `all`, GPUs and links are left out: `summary.totals` has them together.
std::string diff_text(const ResultDiff& diff, bool all);
// {"config": [{"name", "before", "after"}], "result": [{"name", "before", "after", "relative"}]}.
std::string diff_json(const ResultDiff& diff);

// A value as people read it, by its name's ending: "19.87 s" of duration_s, "120.4 GB" of h2d_bytes.
std::string value_text(std::string_view name, const std::string& json);
// "+12.5 %"; "" when there is none.
std::string relative_text(std::optional<double> relative);

}  // namespace uvmsim
