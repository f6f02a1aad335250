// Views answer one question about a trace with a table. One file each in report/views/.
#pragma once

#include <cstdint>
#include <limits>
#include <span>
#include <string>
#include <variant>
#include <vector>

#include "base/registry.h"
#include "report/view_input.h"

namespace uvmsim {

struct ViewTable {
  using Cell = std::variant<std::string, std::int64_t, double>;
  std::string title;                       // with what the columns mean where their names do not say it
  std::string finding = {};                // the answer in one sentence; "": the rows say it
  std::vector<std::string> columns;        // with the unit of numbers: "tensor_bytes", "idle_s", "hidden_share"
  std::vector<std::vector<Cell>> rows;     // as many cells as there are columns; what matters most stands first
  std::vector<std::string> pictures = {};  // a bar for each row, in text only; none: there are none
};

class View : public PlugIn {
 public:
  static constexpr KindText kKind{.name = "view", .noun = "view", .use = "uvmsim analyse --view"};

  // The same input and parameters, the same table.
  virtual ViewTable table(const ViewInput& input) const = 0;
};

inline Registry<View>& views() { return registry<View>(); }

// The table of the view `name` with its default parameters. UserError when there is none of that name.
ViewTable run_view(const std::string& name, const ViewInput& input);

// The title, the finding and aligned columns, numbers in the units that their columns name; of many rows the first
// `rows`, and how many there are. Ends in a newline.
std::string to_text(const ViewTable& table, std::size_t rows = std::numeric_limits<std::size_t>::max());
// One JSON object {"title", "finding", "columns", "rows": [{column: cell}]}. Ends in a newline.
std::string to_json(const ViewTable& table);

// One JSON object {"workload", "unknowns", "views": [{"view", ...}]} of the tables of the views `names`. Ends in a
// newline.
std::string to_json(const std::string& workload, const std::vector<std::string>& unknowns,
                    std::span<const std::string> names, std::span<const ViewTable> tables);

}  // namespace uvmsim
