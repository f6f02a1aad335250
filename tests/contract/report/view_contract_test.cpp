#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "report/view.h"
#include "support/generate.h"

namespace uvmsim {
namespace {

class ViewContract : public testing::TestWithParam<std::string> {};

TEST_P(ViewContract, HasATitleAndACellForEachColumn) {
  for (const trace::Trace& trace : {make_generator("vector_add")->generate(1), trace::Trace{}}) {
    const ViewInput input(trace);
    const ViewTable table = run_view(GetParam(), input);
    EXPECT_FALSE(table.title.empty());
    EXPECT_FALSE(table.columns.empty());
    EXPECT_TRUE(table.pictures.empty() || table.pictures.size() == table.rows.size());
    for (const auto& row : table.rows) EXPECT_EQ(row.size(), table.columns.size());
    EXPECT_EQ(nlohmann::json::parse(to_json(table))["rows"].size(), table.rows.size());
    EXPECT_EQ(to_json(run_view(GetParam(), input)), to_json(table));
  }
}

INSTANTIATE_TEST_SUITE_P(All, ViewContract, testing::ValuesIn(views().names()),
                         [](const auto& view) { return view.param; });

}  // namespace
}  // namespace uvmsim
