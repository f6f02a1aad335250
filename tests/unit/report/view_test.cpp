#include "report/view.h"

#include <gmock/gmock.h>

#include "workload/trace_builder.h"

namespace uvmsim {
namespace {

using testing::HasSubstr;
using testing::ThrowsMessage;

trace::Trace sizes() {
  TraceBuilder t{trace::Header{}};
  t.allocate(Bytes{513}, TensorKind::Activation);
  t.allocate(Bytes{1024}, TensorKind::Activation);
  t.allocate(Bytes{512}, TensorKind::Activation);
  t.allocate(Bytes{1}, TensorKind::Param);
  return t.take();
}

// 513 and 1024 B are in the class up to 1024 B, together 1537 B; 512 B in the one below; 1 B is its own class.
TEST(BlockSizes, CountsByKindAndPowerOfTwo) {
  const ViewTable table = run_view("block_sizes", sizes());
  ASSERT_EQ(table.columns, (std::vector<std::string>{"kind", "up_to_bytes", "tensors", "bytes"}));
  const std::vector<std::vector<ViewTable::Cell>> rows = {
      {"param", 1, 1, 1}, {"act", 512, 1, 512}, {"act", 1024, 2, 1537}};
  EXPECT_EQ(table.rows, rows);
}

TEST(View, IsTextWithAlignedColumnsAndJson) {
  const ViewTable table{.title = "what", .columns = {"name", "bytes"}, .rows = {{"a", 7}, {"long", 0.5}}};
  EXPECT_EQ(to_text(table),
            "what\n"
            "  name  bytes\n"
            "  a         7\n"
            "  long    0.5\n");
  EXPECT_THAT(to_json(table), HasSubstr(R"("title": "what")"));
  EXPECT_THAT(to_json(table), HasSubstr("\"name\": \"long\",\n      \"bytes\": 0.5"));
}

TEST(View, SuggestsTheNearestName) {
  EXPECT_THAT([] { run_view("block_size", {}); },
              ThrowsMessage<UserError>(HasSubstr("no view is named \"block_size\"; did you mean \"block_sizes\"?")));
}

}  // namespace
}  // namespace uvmsim
