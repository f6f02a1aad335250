// Views answer one question about a trace with a table. One file each in report/views/.
#pragma once

#include <cstdint>
#include <string>
#include <variant>
#include <vector>

#include "base/registry.h"
#include "trace/record.h"

namespace uvmsim {

struct ViewTable {
  using Cell = std::variant<std::string, std::int64_t, double>;
  std::string title;                    // with what the columns mean where their names do not say it
  std::vector<std::string> columns;     // with the unit of numbers: "tensor_bytes"
  std::vector<std::vector<Cell>> rows;  // as many cells as there are columns
};

class View : public PlugIn {
 public:
  static constexpr KindText kKind{.name = "view", .noun = "view", .use = "analyses of a trace"};

  // Of a valid trace. The same trace and parameters, the same table.
  virtual ViewTable table(const trace::Trace& trace) const = 0;
};

inline Registry<View>& views() { return registry<View>(); }

// The table of the view `name` with its default parameters. UserError when there is none of that name.
ViewTable run_view(const std::string& name, const trace::Trace& trace);

// The title and aligned columns; one JSON object {"title", "columns", "rows": [{column: cell}]}. Both end in a newline.
std::string to_text(const ViewTable& table);
std::string to_json(const ViewTable& table);

}  // namespace uvmsim
