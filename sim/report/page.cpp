#include "report/page.h"

#include <algorithm>
#include <cstdio>

#include "base/number_text.h"
#include "base/version.h"
#include "report/web_files.h"

namespace uvmsim {
namespace {

using Json = nlohmann::ordered_json;

std::string escaped(std::string_view text) {
  std::string safe;
  for (const char c : text) {
    if (c == '&')
      safe += "&amp;";
    else if (c == '<')
      safe += "&lt;";
    else if (c == '>')
      safe += "&gt;";
    else if (c == '"')
      safe += "&quot;";
    else
      safe += c;
  }
  return safe;
}

// JSON inside a <script>: no text in it may end the element or open a comment.
std::string script_json(const Json& json) {
  std::string text = json.dump(-1, ' ', false, Json::error_handler_t::replace);
  std::string safe;
  safe.reserve(text.size());
  for (const char c : text) {
    if (c == '<')
      safe += "\\u003c";
    else
      safe += c;
  }
  return safe;
}

std::string number(double value, const char* format = "%.4g") {
  char text[32];
  std::snprintf(text, sizeof text, format, value);
  return text;
}

struct Part {
  const char* key;
  const char* label;
  const char* colour;
};

constexpr Part kParts[] = {{"fault_cpu_s", "fault handling on the CPU", "#2563c9"},
                           {"eviction_s", "evictions", "#d9730d"},
                           {"copy_in_s", "copies in", "#0f8a6a"},
                           {"link_wait_s", "waiting for a shared link", "#9b4dca"},
                           {"compute_s", "compute", "#4d8f2f"},
                           {"transfer_s", "explicit copies, prefetches", "#c2346b"},
                           {"collective_s", "collectives", "#7a6a00"},
                           {"idle_s", "idle", "#6b7280"}};

double value_of(const Json& object, const char* key) {
  const auto found = object.find(key);
  return found != object.end() && found->is_number() ? found->get<double>() : 0;
}

constexpr int kWidth = 640, kLine = 22;

std::string svg(int height, const std::string& label, const std::string& content) {
  return "<svg viewBox=\"0 0 " + std::to_string(kWidth) + " " + std::to_string(height) +
         "\" role=\"img\" aria-label=\"" + escaped(label) +
         "\" style=\"width:100%;max-width:800px;font:13px sans-serif;fill:currentColor\">" + content + "</svg>";
}

std::string rectangle(double x, int y, double width, const std::string& colour, const std::string& title) {
  return "<rect x=\"" + number(x) + "\" y=\"" + std::to_string(y) + "\" width=\"" + number(width) +
         "\" height=\"16\" fill=\"" + colour + "\"><title>" + escaped(title) + "</title></rect>";
}

std::string text_at(int x, int y, const std::string& text) {
  return "<text x=\"" + std::to_string(x) + "\" y=\"" + std::to_string(y) + "\">" + escaped(text) + "</text>";
}

// Where the time of a run went: one bar, and what its colours mean.
std::string time_picture(const PageRun& run) {
  const Json& totals = run.result.at("summary").at("totals");
  const Json& split = totals.at("time_split_s");
  const double all = std::max(value_of(totals, "gpu_s"), 1e-12);
  std::string content;
  double x = 0;
  int y = kLine + 18;
  for (const Part& part : kParts) {
    const double share = value_of(split, part.key) / all;
    if (share <= 0) continue;
    const std::string told = std::string(part.label) + " " + number(share * 100, "%.1f") + " %";
    content += rectangle(x, 0, share * kWidth, part.colour, told) + rectangle(0, y - 13, 16, part.colour, told) +
               text_at(24, y, told);
    x += share * kWidth;
    y += kLine;
  }
  return svg(y, "Where the time went", content);
}

// A sweep: a bar per point.
std::string sweep_picture(const Json& sweep) {
  if (sweep.at("metrics").empty()) return "";
  constexpr std::size_t kMost = 100;
  const auto metric = sweep.at("metrics").front().get<std::string>();
  double longest = 1e-12;
  for (const Json& point : sweep.at("points"))
    longest = std::max(longest, value_of(point.at("values"), metric.c_str()));
  std::string content;
  int y = 0;
  for (const Json& point : sweep.at("points")) {
    if (y / kLine >= static_cast<int>(kMost)) break;
    const double value = value_of(point.at("values"), metric.c_str());
    std::string name;
    for (const auto& [key, at] : point.at("at").items())
      name += (name.empty() ? "" : ", ") + key.substr(key.rfind('.') + 1) + " " + at.get<std::string>();
    content += rectangle(330, y, value / longest * 210, "#2563c9", name) + text_at(0, y + 13, name.substr(0, 46)) +
               text_at(550, y + 13, number(value));
    y += kLine;
  }
  return "<p>" + escaped(metric) + "</p>" + svg(std::max(y, kLine), metric, content);
}

// A comparison with several memories: a line for each policy, of its time over memory.
std::string memory_picture(const Json& comparison) {
  constexpr int kHeight = 260;
  double longest = 0, most = 0;
  for (const Json& policy : comparison.at("policies"))
    for (const Json& point : policy.value("points", Json::array())) {
      longest = std::max(longest, value_of(point, "duration_s"));
      most = std::max(most, value_of(point, "memory_bytes"));
    }
  if (longest <= 0) return "";
  std::string content;
  int y = kHeight + kLine;
  std::size_t drawn = 0;
  for (const Json& policy : comparison.at("policies")) {
    const std::string name = policy.at("policy").get<std::string>();
    std::string line, told = name + ":";
    for (const Json& point : policy.value("points", Json::array())) {
      const double time = value_of(point, "duration_s"), memory = value_of(point, "memory_bytes");
      if (time <= 0) continue;
      line += number(memory / most * kWidth) + "," + number(kHeight * (1 - time / longest)) + " ";
      told += " " + number(time) + " s with " + bytes_text(memory) + ";";
    }
    if (line.empty()) continue;
    const std::string colour = kParts[drawn++ % std::size(kParts)].colour;
    content += "<polyline fill=\"none\" stroke=\"" + colour + "\" stroke-width=\"2\" points=\"" + line + "\"/>" +
               rectangle(0, y - 13, 16, colour, name) + text_at(24, y, told.substr(0, told.size() - 1));
    y += kLine;
  }
  return "<p>Time of an iteration over the memory of each GPU, up to " + number(longest) + " s and " +
         bytes_text(most) + "</p>" + svg(y, "Time over memory", content);
}

// The short list of `uvmsim advise`: what gains by more than its error, the best first.
std::string advice_list(const Json& advice) {
  std::string html = "<section><h2>Advice: " + escaped(advice.value("experiment", "")) + "</h2><ol>";
  for (const Json& name : advice.at("advice"))
    for (const Json& trial : advice.at("trials"))
      if (trial.at("name") == name)
        html +=
            "<li>" + number(value_of(trial, "gain")) + " times faster: " + escaped(trial.value("change", "")) + "</li>";
  return html + "</ol></section>";
}

// What the views of `uvmsim analyse` found, each in its sentence.
std::string findings(const Json& analysis) {
  std::string html = "<section><h2>Memory of " + escaped(analysis.value("workload", "")) + "</h2><ul>";
  for (const Json& view : analysis.at("views"))
    if (const std::string finding = view.value("finding", ""); !finding.empty())
      html += "<li>" + escaped(finding) + "</li>";
  return html + "</ul></section>";
}

std::string without_script(const Page& page) {
  std::string html = "<p>Without JavaScript this page shows its main numbers only.</p>";
  for (const PageRun& run : page.runs) {
    const Json& summary = run.result.at("summary");
    html +=
        "<section><h2>" + escaped(run.name) + "</h2><p>" + number(value_of(summary, "duration_s")) + " s an iteration";
    if (const Json& band = run.result.value(Json::json_pointer("/trust/band"), Json()); !band.is_null())
      html += " (" + percent_text(value_of(band, "level")) + " band " + number(value_of(band, "low_s")) + " to " +
              number(value_of(band, "high_s")) + " s)";
    if (const double reference = value_of(summary, "cuda_malloc_duration_s"); reference > 0)
      html += ", " + number(reference) + " s with cudaMalloc on GPUs that are large enough, a slowdown of " +
              number(value_of(summary, "slowdown")) + "x";
    html += "</p>" + time_picture(run) + "</section>";
  }
  for (const Json& advice : page.advices) html += advice_list(advice);
  for (const Json& sweep : page.sweeps)
    html += "<section><h2>Sweep: " + escaped(sweep.at("name").get<std::string>()) + "</h2>" + sweep_picture(sweep) +
            "</section>";
  for (const Json& comparison : page.comparisons)
    if (const std::string picture = memory_picture(comparison); !picture.empty())
      html += "<section><h2>" + escaped(comparison.value("experiment", "")) + "</h2>" + picture + "</section>";
  for (const Json& analysis : page.analyses) html += findings(analysis);
  return html;
}

// What the script draws: `rows` of a comparison are its references and its policies.
Json page_data(const Page& page) {
  Json data = {{"runs", Json::array()},           {"sweeps", page.sweeps},   {"comparisons", Json::array()},
               {"validations", page.validations}, {"advices", page.advices}, {"analyses", page.analyses}};
  for (const PageRun& run : page.runs)
    data["runs"].push_back({{"name", run.name}, {"result", run.result}, {"observations", run.observations}});
  for (const Json& comparison : page.comparisons) {
    Json rows = Json::array();
    for (const char* reference : {"cuda_malloc", "in_core"})
      if (comparison.contains(reference)) rows.push_back(comparison.at(reference));
    for (const Json& policy : comparison.at("policies")) rows.push_back(policy);
    data["comparisons"].push_back({{"title", comparison.value("experiment", "")},
                                   {"settings", comparison.value("settings", Json::array())},
                                   {"rows", rows}});
  }
  return data;
}

}  // namespace

std::string to_html(const Page& page) {
  const std::string title = escaped(page.title);
  std::string html = "<!doctype html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n";
  html += "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n";
  // No connection, whatever a name in the data may contain.
  html +=
      "<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; style-src 'unsafe-inline'; "
      "script-src 'unsafe-inline'; img-src data:\">\n";
  html += "<link rel=\"icon\" href=\"data:,\">\n<title>" + title + "</title>\n<style>";
  html += report_style();
  html += "</style>\n</head>\n<body>\n<a class=\"skip\" href=\"#main\">Skip to the results</a>\n<header><h1>" + title +
          "</h1></header>\n<nav aria-label=\"Sections\"></nav>\n<main id=\"main\">\n<noscript>" + without_script(page) +
          "</noscript>\n</main>\n<footer>Written by uvmsim " + std::string(kVersion) +
          ". Charts by uPlot (MIT licence, in this page's source).</footer>\n";
  html +=
      "<script type=\"application/json\" id=\"data\">" + script_json(page_data(page)) + "</script>\n<!--\nuPlot\n\n";
  html += report_licence();
  html += "-->\n<script>";
  html += report_script();
  html += "</script>\n</body>\n</html>\n";
  return html;
}

}  // namespace uvmsim
