#include "cli/case_files.h"

#include <gmock/gmock.h>

#include "base/user_error.h"

namespace uvmsim {
namespace {

using testing::ElementsAre;
using testing::EndsWith;
using testing::HasSubstr;

TEST(CaseFiles, AreThoseOfBundledFamiliesByName) {
  EXPECT_THAT(case_files({"dli_counts", "blog_p100"}),
              ElementsAre(EndsWith("/cases/blog_p100.json"), EndsWith("/cases/dli_counts.json")));
}

TEST(CaseFiles, AreAllOfAFolderAndNoneTwice) {
  const std::string folder = UVMSIM_SOURCE_DIR "/validation/cases";
  const std::vector<std::string> all = case_files({folder});
  EXPECT_EQ(case_files({folder, folder + "/blog_p100.json"}), all);
  EXPECT_GT(all.size(), 100u);
}

TEST(CaseFiles, OfAnUnknownNameAreAnErrorWithTheNearestFamily) {
  try {
    case_files({"blog_p10", "dli_counts"});
    FAIL() << "blog_p10 is no family";
  } catch (const UserError& error) {
    ASSERT_EQ(error.errors().size(), 1u);
    EXPECT_EQ(error.errors()[0].place, "blog_p10");
    EXPECT_THAT(error.errors()[0].message, HasSubstr("did you mean \"blog_p100\"?"));
  }
}

// 255 bytes are what file systems allow.
TEST(CaseFiles, OfANameThatNoFileCanHaveAreAnErrorLikeOthers) {
  EXPECT_THROW(case_files({std::string(5000, 'x')}), UserError);
}

}  // namespace
}  // namespace uvmsim
