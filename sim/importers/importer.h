// Importers answer "what ran?" from other programs' files.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/registry.h"
#include "importers/import_builder.h"
#include "importers/import_file.h"

namespace uvmsim {

// One of the files of an import, and which part of the format it is.
struct ImportPart {
  const ImportFile* file = nullptr;
  std::string role;
};

// One foreign format, in one file of importers/. An importer reads each file once, in order, and keeps no more
// of it than the trace needs.
class Importer : public PlugIn {
 public:
  static constexpr KindText kKind{.name = "importer", .noun = "format", .use = "trace import --format"};

  // Which part of this format a file with these first bytes is; "" when it is none.
  virtual std::string role(std::string_view head) const = 0;

  // Puts what `parts` say into `into`. Adds everything wrong with them to `errors`, placed as "file:line" or "file:
  // byte n"; the trace is thrown away then. May throw UserError, and ParseError for a source that cannot be read on.
  virtual void import(const std::vector<ImportPart>& parts, ImportBuilder& into, trace::ErrorList& errors) const = 0;
};

inline Registry<Importer>& importers() { return registry<Importer>(); }

// The trace of `files`, which are read as `format`, or as the one format that all of them are. It is valid, and its
// header says where it comes from, how far to trust it, and what is not known. Throws UserError with every error, the
// first twenty and the number of the rest.
trace::Trace import_files(const std::vector<ImportFile>& files, const std::string& format = "");

}  // namespace uvmsim
