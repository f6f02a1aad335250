#include <algorithm>
#include <cstdio>
#include <unordered_map>

#include "memory/allocator.h"
#include "report/view.h"

namespace uvmsim {
namespace {

constexpr std::int64_t kWidth = 48;  // of a bar

// The address of each allocation of the trace that is on a GPU, by its record.
std::unordered_map<std::size_t, VirtualAddress> addresses_of(const ViewInput& input) {
  PlacementOptions options = input.setting.placement;
  options.keep_tensors = true;
  const Program program = place(input.trace, options);
  std::unordered_map<std::size_t, VirtualAddress> addresses;
  auto next = program.tensors.begin();
  for (std::size_t i = 0; i < input.trace.records.size() && next != program.tensors.end(); ++i) {
    const auto* alloc = std::get_if<trace::Alloc>(&input.trace.records[i]);
    if (alloc != nullptr && counts_in_plans(*alloc, DeviceOrdinal{alloc->device}))
      addresses.emplace(i, (next++)->address);
  }
  return addresses;
}

std::string hexadecimal(VirtualAddress address) {
  char text[20];
  std::snprintf(text, sizeof text, "0x%llx", static_cast<unsigned long long>(address));
  return text;
}

class Lifetimes final : public View {
 public:
  ViewTable table(const ViewInput& input) const override {
    struct Life {
      std::int64_t bytes;
      VirtualAddress address;
      std::vector<ViewTable::Cell> row;
      std::string bar;
    };
    std::vector<Life> lives;
    const std::unordered_map<std::size_t, VirtualAddress> addresses = addresses_of(input);
    for (const ObservedIteration& of : input.iterations) {
      const std::vector<GraphTensor>& tensors = of.graph().tensors;
      for (std::int32_t t = 0; std::cmp_less(t, tensors.size()); ++t) {
        const GraphTensor& tensor = tensors[static_cast<std::size_t>(t)];
        const auto found = addresses.find(of.records.made[static_cast<std::size_t>(t)]);
        if (found == addresses.end()) continue;
        const Duration from = before(of.profile, tensor.first), until = before(of.profile, tensor.outer);
        lives.push_back(
            {tensor.bytes,
             found->second,
             {static_cast<std::int64_t>(of.device.value), static_cast<std::int64_t>(t), kind_of(of.graph(), t),
              layer_of(of.graph(), t), hexadecimal(found->second), tensor.bytes, seconds(from), seconds(until)},
             bar(from, until, of.profile.length)});
      }
    }
    std::ranges::stable_sort(lives, [](const Life& a, const Life& b) {
      return std::pair(-a.bytes, a.address) < std::pair(-b.bytes, b.address);
    });
    ViewTable table{.title = "when each tensor has which memory, over one iteration (a Gantt chart by address)",
                    .columns = {"device", "tensor", "kind", "layer", "address", "bytes", "from_s", "until_s"},
                    .rows = {}};
    for (Life& life : lives) {
      table.rows.push_back(std::move(life.row));
      table.pictures.push_back(std::move(life.bar));
    }
    return table;
  }

 private:
  // Memory changes hands in stream order: when the kernel before is done.
  static Duration before(const Profile& profile, std::int32_t kernel) {
    if (kernel <= 0) return {};
    return kernel >= profile.shape().kernels ? profile.length : profile.end(kernel - 1);
  }

  static std::string bar(Duration from, Duration until, Duration length) {
    const std::int64_t all = std::max<std::int64_t>(length.count(), 1);
    const auto cell = [&](Duration at) {
      return static_cast<std::size_t>(static_cast<double>(at.count()) / static_cast<double>(all) * kWidth);
    };
    std::string text(kWidth, '.');
    const std::size_t first = std::min<std::size_t>(cell(from), kWidth - 1);
    const std::size_t outer = std::clamp<std::size_t>(cell(until), first + 1, kWidth);
    return text.replace(first, outer - first, outer - first, '#');
  }
};

const bool kRegistered = add_plug_in<View, Lifetimes>(
    {.name = "lifetimes",
     .summary = "when each tensor has memory, and at which address",
     .source = "Pinpointing the Memory Behaviors of DNN Training, ISPASS 2021, section III: Gantt charts of blocks"});

}  // namespace
}  // namespace uvmsim
