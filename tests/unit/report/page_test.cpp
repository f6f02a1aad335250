#include "report/page.h"

#include <gtest/gtest.h>

#include "report/csv.h"
#include "report/json.h"
#include "support/sample_result.h"

namespace uvmsim {
namespace {

using Json = nlohmann::ordered_json;

PageRun sample_run() {
  return {"run", Json::parse(to_json(make_report(test::sample_result(), {}, {.version = "1", .experiment = "e"}))),
          nullptr};
}

Json data_of(const std::string& html) {
  const std::string opens = "<script type=\"application/json\" id=\"data\">";
  const std::size_t from = html.find(opens) + opens.size();
  return Json::parse(html.substr(from, html.find("</script>", from) - from));
}

TEST(Csv, FieldsMayHoldCommasQuotesAndLines) {
  EXPECT_EQ(read_csv("a,\"b,\"\"c\"\"\nd\",\r\n1,2,3"),
            (std::vector<std::vector<std::string>>{{"a", "b,\"c\"\nd", ""}, {"1", "2", "3"}}));
  EXPECT_TRUE(read_csv("").empty());
}

TEST(Page, HoldsTheResultUnchanged) {
  const PageRun run = sample_run();
  const Json data = data_of(to_html({.title = "t", .runs = {run}, .sweeps = {}, .comparisons = {}, .validations = {}}));
  EXPECT_EQ(data["runs"][0]["result"], run.result);
}

// No text of the data can end the element that holds it, or add markup to the page.
TEST(Page, TextStaysText) {
  PageRun run = sample_run();
  run.name = run.result["run"]["description"] = "</script><script>alert(1)</script>";
  const std::string html =
      to_html({.title = "<b>&\"", .runs = {run}, .sweeps = {}, .comparisons = {}, .validations = {}});
  EXPECT_EQ(html.find("<script>alert"), std::string::npos);
  EXPECT_EQ(html.find("<b>"), std::string::npos);
  EXPECT_EQ(data_of(html)["runs"][0]["name"], run.name);
}

// gpu_s = 6 + 8 = 14 s. fault_cpu 2/14, evictions 4/14, copies in 2/14, compute 6/14: bars of 640 in all.
TEST(Page, ShowsThePictureWithoutAScript) {
  const std::string html =
      to_html({.title = "t", .runs = {sample_run()}, .sweeps = {}, .comparisons = {}, .validations = {}});
  const std::string noscript = html.substr(html.find("<noscript>"), html.find("</noscript>") - html.find("<noscript>"));
  EXPECT_NE(noscript.find("<rect x=\"0\" y=\"0\" width=\"91.43\""), std::string::npos);
  EXPECT_NE(noscript.find("compute 42.9 %"), std::string::npos);
}

// 2 s at 4 GB is the longest time and the largest memory: (640, 0); 1 s at 2 GB is half of both: (320, 130) of 260.
TEST(Page, DrawsTimeOverMemoryWithoutAScript) {
  const Json comparison = Json::parse(R"({"experiment": "e", "policies": [{"policy": "<vdnn>", "points": [
    {"memory_bytes": 2000000000, "completed": true, "duration_s": 1},
    {"memory_bytes": 3000000000, "completed": false, "error": "out of memory"},
    {"memory_bytes": 4000000000, "completed": true, "duration_s": 2}]}]})");
  const std::string html =
      to_html({.title = "t", .runs = {}, .sweeps = {}, .comparisons = {comparison}, .validations = {}});
  EXPECT_NE(html.find("points=\"320,130 640,0 \""), std::string::npos);
  EXPECT_NE(html.find("&lt;vdnn&gt;: 1 s with 2 GB; 2 s with 4 GB<"), std::string::npos);
}

// The short list names trials; only those are listed.
TEST(Page, ListsAdviceWithoutAScript) {
  const Json advice = Json::parse(R"({"experiment": "e", "advice": ["fp16"], "trials": [
    {"name": "lru", "change": "policy=lru", "gain": 0.9}, {"name": "fp16", "change": "dtype=<fp16>", "gain": 2.5}]})");
  const std::string html =
      to_html({.title = "t", .runs = {}, .sweeps = {}, .comparisons = {}, .validations = {}, .advices = {advice}});
  EXPECT_NE(html.find("<h2>Advice: e</h2><ol><li>2.5 times faster: dtype=&lt;fp16&gt;</li></ol>"), std::string::npos);
  EXPECT_EQ(data_of(html)["advices"][0], advice);
}

TEST(Page, ListsWhatViewsFoundWithoutAScript) {
  const Json analysis = Json::parse(R"({"workload": "w", "views": [
    {"view": "layers", "title": "t", "finding": "of <1 GB>", "columns": [], "rows": []},
    {"view": "lifetimes", "title": "t", "finding": "", "columns": [], "rows": []}]})");
  const std::string html = to_html({.title = "t",
                                    .runs = {},
                                    .sweeps = {},
                                    .comparisons = {},
                                    .validations = {},
                                    .advices = {},
                                    .analyses = {analysis}});
  EXPECT_NE(html.find("<h2>Memory of w</h2><ul><li>of &lt;1 GB&gt;</li></ul>"), std::string::npos);
  EXPECT_EQ(data_of(html)["analyses"][0], analysis);
}

TEST(Page, ReadsASweepFromItsCsv) {
  const auto pages = sweep_pages(
      "sweep,place,hash,workload.batch,machine,outcome,error,duration_s,slowdown,wall_s\n"
      "1,0,aa,48,,completed,,1.5,1,0.2\n1,1,bb,98,,out_of_memory,\"no, memory\",,,\n"
      "2,0,cc,,v100,,,,,\n",
      "folder");
  ASSERT_TRUE(pages.has_value());
  ASSERT_EQ(pages->size(), 2U);
  const Json& first = pages->front();
  EXPECT_EQ(first["axes"], Json({"workload.batch"}));
  EXPECT_EQ(first["metrics"], Json({"duration_s", "slowdown", "wall_s"}));
  EXPECT_EQ(first["points"][0]["values"]["duration_s"], 1.5);
  EXPECT_EQ(first["points"][1]["values"]["duration_s"], nullptr);
  EXPECT_EQ(first["points"][1]["error"], "no, memory");
  EXPECT_EQ((*pages)[1]["axes"], Json({"machine"}));
  EXPECT_FALSE(sweep_pages("a,b\n1,2\n", "folder").has_value());
}

}  // namespace
}  // namespace uvmsim
