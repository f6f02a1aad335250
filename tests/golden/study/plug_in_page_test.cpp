#include "study/plug_in_page.h"

#include <gmock/gmock.h>

#include "base/registry.h"
#include "support/golden_file.h"

namespace uvmsim {
namespace {

// The page is generated. UVMSIM_UPDATE_GOLDEN=1 in the environment rewrites it.
TEST(PlugInPage, CommittedPageIsUpToDate) {
  const std::string path = std::string(UVMSIM_SOURCE_DIR) + "/sim/base/PLUG_INS.md";
  EXPECT_EQ(test::golden_file(path, plug_in_page()), plug_in_page());
}

TEST(PlugInPage, HasEveryPlugInOfEveryKind) {
  const std::string page = plug_in_page();
  for (const PlugInKind* kind : kinds()) {
    EXPECT_THAT(page, testing::HasSubstr("\n## " + std::string(kind->text().name) + "\n"));
    for (const std::string& name : kind->names()) EXPECT_THAT(page, testing::HasSubstr("| `" + name + "` |"));
  }
}

}  // namespace
}  // namespace uvmsim
