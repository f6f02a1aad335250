#include <bit>
#include <map>

#include "report/view.h"

namespace uvmsim {
namespace {

// How large allocations are, by kind of tensor: in classes that end at powers of two.
class BlockSizes final : public View {
 public:
  ViewTable table(const ViewInput& input) const override {
    struct Class {
      std::int64_t tensors = 0, bytes = 0;
    };
    std::map<std::pair<std::uint8_t, std::int64_t>, Class> classes;
    for (const trace::Record& record : input.trace.records)
      if (const auto* alloc = std::get_if<trace::Alloc>(&record)) {
        const auto up_to = std::bit_ceil(static_cast<std::uint64_t>(alloc->bytes));
        Class& of = classes[{alloc->kind, static_cast<std::int64_t>(up_to)}];
        ++of.tensors;
        of.bytes += alloc->bytes;
      }
    ViewTable table{.title = "allocations by kind and size: each counts for the smallest power of two that holds it",
                    .columns = {"kind", "up_to_bytes", "tensors", "bytes"},
                    .rows = {}};
    for (const auto& [key, of] : classes)
      table.rows.push_back({name_of(input.trace.header, key.first), key.second, of.tensors, of.bytes});
    return table;
  }

 private:
  static std::string name_of(const trace::Header& header, std::uint8_t kind) {
    return kind < header.kinds.size() ? header.kinds[kind] : "kind " + std::to_string(kind);
  }
};

const bool kRegistered = add_plug_in<View, BlockSizes>(
    {.name = "block_sizes",
     .summary = "how many allocations there are of each size, and their bytes, by kind of tensor",
     .source = "Pinpointing the Memory Behaviors of DNN Training, ISPASS 2021, section III"});

}  // namespace
}  // namespace uvmsim
