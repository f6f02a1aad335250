#include <nlohmann/json.hpp>

#include "base/number_text.h"
#include "report/json_fields.h"
#include "report/report_fields.h"
#include "report/table.h"
#include "report/text.h"
#include "study/memory_fit.h"

namespace uvmsim {
namespace {

// The answer, for the first allocator.
std::string verdict(const MemoryFit& fit, Bytes usable) {
  std::string text = std::string(fit.fits ? "Fits" : "Does not fit") +
                     " into the memory of the smallest GPU: " + bytes_text(fit.peak_reserved) + " of " +
                     bytes_text(usable) + ", which cudaMalloc takes in " + "pieces of 2 MiB. ";
  if (fit.largest_batch && *fit.largest_batch > 0)
    text += "The largest batch that does is " + std::to_string(*fit.largest_batch) + ". ";
  if (!fit.fits) text += "What it would cost and what to change: uvmsim advise.";
  return wrapped(text, "  ", 98);
}

}  // namespace

std::string to_text(const MemoryFitReport& report) {
  const bool batches = !report.fits.empty() && report.fits.front().batch.has_value();
  std::string text = report.experiment + "\n";
  if (!report.description.empty()) text += wrapped(report.description, "  ", 98);
  text += setup_text(report.setup) + "\n" + verdict(report.fits.front(), report.usable_memory) + "\n";
  std::vector<std::vector<std::string>> rows = {
      {"allocator", "asked for", "reserved", "cudaMalloc", "managed: of memory", batches ? "largest batch" : ""}};
  for (const MemoryFit& fit : report.fits)
    rows.push_back({fit.allocator, bytes_text(fit.peak_live), bytes_text(fit.peak_reserved),
                    fit.fits ? "fits" : "does not fit", number_text(fit.oversubscription) + "x",
                    fit.largest_batch ? std::to_string(*fit.largest_batch) : ""});
  text += aligned(rows, 3);
  for (const MemoryFit& fit : report.fits) {
    if (!fit.fits) text += "  " + fit.allocator + ": " + fit.detail + "\n";
    if (!fit.monotonic) text += "  " + fit.allocator + ": some batches below its largest do not fit\n";
  }
  for (const MemoryFit& fit : report.fits)
    for (const MemoryFit::Largest& of : fit.largest)
      text += "  " + fit.allocator + ": largest " + of.parameter +
              " that fits: " + (of.largest.empty() ? "none" : of.largest) + ", here " + of.given + "\n";
  if (!report.fits.front().fits && !report.fits.front().largest.empty())
    text += "  which of these, or managed memory as it is, costs least: uvmsim advise\n";
  if (batches)
    text += "  the other numbers are for batch " + std::to_string(*report.fits.front().batch) + "\n";
  else if (report.fits.front().largest.empty())
    text += "  the workload has no batch that could be varied\n";
  return text;
}

std::string to_json(const MemoryFitReport& report) {
  nlohmann::ordered_json fits = nlohmann::ordered_json::array();
  for (const MemoryFit& fit : report.fits) {
    nlohmann::ordered_json one = {{"allocator", fit.allocator},
                                  {"peak_live_bytes", fit.peak_live.value},
                                  {"peak_reserved_bytes", fit.peak_reserved.value},
                                  {"fits", fit.fits},
                                  {"detail", fit.detail},
                                  {"oversubscription", fit.oversubscription},
                                  {"batch", nullptr},
                                  {"largest_batch", nullptr},
                                  {"monotonic", fit.monotonic}};
    for (const MemoryFit::Largest& of : fit.largest) {
      one["largest"][of.parameter] = nullptr;
      if (!of.largest.empty()) one["largest"][of.parameter] = of.largest;
    }
    if (fit.batch) one["batch"] = *fit.batch;
    if (fit.largest_batch) one["largest_batch"] = *fit.largest_batch;
    fits.push_back(std::move(one));
  }
  const nlohmann::ordered_json all = {{"experiment", report.experiment},
                                      {"setup", json_of(report.setup)},
                                      {"usable_memory_bytes", report.usable_memory.value},
                                      {"fits", std::move(fits)}};
  return all.dump(1) + "\n";
}

}  // namespace uvmsim
