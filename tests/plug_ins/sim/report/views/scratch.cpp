#include "report/view.h"

namespace uvmsim {
namespace {

class Scratch final : public View {
 public:
  ViewTable table(const ViewInput& input) const override {
    return {
        .title = "records", .columns = {"records"}, .rows = {{static_cast<std::int64_t>(input.trace.records.size())}}};
  }
};

const bool kRegistered = add_plug_in<View, Scratch>({.name = "scratch", .summary = "an example", .source = "a test"});

}  // namespace
}  // namespace uvmsim
