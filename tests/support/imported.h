// Imports of texts, and what is said about them.
#pragma once

#include <string>
#include <vector>

#include "base/user_error.h"
#include "importers/importer.h"
#include "support/trace_text.h"

namespace uvmsim {

inline trace::Trace imported(const std::vector<ImportFile>& files, const std::string& format = "") {
  return import_files(files, format);
}
inline trace::Trace imported(const std::string& text) { return import_files({ImportFile::of("f", text)}); }

// The records of `trace` as they stand in a file, without the header.
inline std::string records_text(const trace::Trace& trace) {
  const std::string text = trace::text_of(trace);
  return text.substr(text.find('\n') + 1);
}

// What the import says of `files`, one "place: message" a line; empty when it takes them.
inline std::string import_errors(const std::vector<ImportFile>& files, const std::string& format = "") {
  try {
    import_files(files, format);
    return "";
  } catch (const UserError& error) {
    std::string all;
    for (const InputError& f : error.errors()) all += (all.empty() ? "" : "\n") + f.place + ": " + f.message;
    return all;
  }
}
inline std::string import_errors(const std::string& text) { return import_errors({ImportFile::of("f", text)}); }

}  // namespace uvmsim
