// The --timeline options of `uvmsim run`.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "cli/output_file.h"
#include "cli/verb.h"
#include "observe/timeline.h"

namespace uvmsim {

struct TimelineArguments {
  std::string path;    // empty: no timeline
  std::string window;  // "BEGIN:END"
  std::string level = "copies";
};

void add_timeline_options(Verb verb, TimelineArguments& arguments);

// What --timeline-window and --timeline-level ask for. Throws UserError when they ask for nothing sensible.
TimelineOptions timeline_options(const TimelineArguments& arguments);

// A timeline file, in the format that its name ends in: .json, .json.gz or .pftrace. Appears whole, or not at all.
class TimelineFile {
 public:
  // Throws UserError when the name ends in none of these, and as OutputFile does.
  explicit TimelineFile(const std::string& path, const std::vector<std::string>& inputs = {});
  // Throws std::system_error when it cannot be written.
  void keep(const Timeline& timeline);

 private:
  enum class Format { Json, GzippedJson, Perfetto };
  static Format format_of(const std::string& path);

  Format format_;
  OutputFile file_;
};

}  // namespace uvmsim
