#include "importers/importer.h"

#include "base/check.h"
#include "base/join.h"
#include "base/user_error.h"
#include "base/version.h"
#include "trace/checker.h"

namespace uvmsim {
namespace {

std::string names_of(const std::vector<ImportFile>& files) {
  std::string all;
  for (const ImportFile& file : files) all += (all.empty() ? "" : ", ") + file.name();
  return all;
}

// The parts that `files` are of `importer`'s format; empty when any of them is none.
std::vector<ImportPart> parts_of(const Importer& importer, const std::vector<ImportFile>& files,
                                 const std::vector<std::string>& heads) {
  std::vector<ImportPart> parts;
  for (std::size_t i = 0; i < files.size(); ++i) {
    std::string role = importer.role(heads[i]);
    if (role.empty()) return {};
    parts.push_back({&files[i], std::move(role)});
  }
  return parts;
}

// What a file that no importer knows is, and what to do with it; "" when nobody can tell.
std::string other_file(std::string_view head) {
  if (head.starts_with("NVIDIA Tegra Profiler Report"))
    return "is a report of Nsight Systems itself; `nsys export --type sqlite FILE` makes the SQLite file to import";
  // POSIX.1-1988, "ustar": the magic of tar's header.
  if (head.size() > 262 && head.substr(257, 5) == "ustar")
    return "is a tar archive; unpack it (`tar xf FILE`) and import what is in it";
  if (head.starts_with("PK\x03\x04")) return "is a zip archive; unpack it (`unzip FILE`) and import what is in it";
  if (head.starts_with("[\"M\",{")) return "is a uvmtrace already; run it as it is";
  return "";
}

struct Detected {
  std::string format;
  std::unique_ptr<Importer> importer;
  std::vector<ImportPart> parts;
};

Detected read_as(const std::string& format, const std::vector<ImportFile>& files,
                 const std::vector<std::string>& heads) {
  const auto* entry = importers().find(format);
  if (entry == nullptr) throw UserError("import", {importers().unknown("--format", format)});
  Detected detected{format, entry->make(), {}};
  std::vector<InputError> errors;
  for (std::size_t i = 0; i < files.size(); ++i) {
    std::string role = detected.importer->role(heads[i]);
    if (role.empty()) errors.push_back({files[i].name(), "is not " + format + ": " + entry->summary});
    detected.parts.push_back({&files[i], std::move(role)});
  }
  if (!errors.empty()) throw UserError("import", std::move(errors));
  return detected;
}

Detected detect(const std::vector<ImportFile>& files, const std::vector<std::string>& heads) {
  for (const auto& [name, entry] : importers().entries()) {
    Detected detected{name, entry.make(), {}};
    detected.parts = parts_of(*detected.importer, files, heads);
    if (!detected.parts.empty()) return detected;
  }
  // Which file is it that nobody knows, or are they of different formats?
  std::vector<InputError> errors;
  for (std::size_t i = 0; i < files.size(); ++i) {
    std::vector<std::string> known;
    for (const auto& [name, entry] : importers().entries())
      if (!entry.make()->role(heads[i]).empty()) known.push_back(name);
    std::string what = other_file(heads[i]);
    if (!known.empty()) what = "is " + joined(known) + ", which the other files are not";
    if (what.empty()) what = "is none of the known formats: " + joined(importers().names());
    errors.push_back({files[i].name(), std::move(what)});
  }
  throw UserError("import", std::move(errors));
}

}  // namespace

trace::Trace import_files(const std::vector<ImportFile>& files, const std::string& format) {
  UVMSIM_CHECK(!files.empty(), "there is something to import");
  std::vector<std::string> heads;
  for (const ImportFile& file : files) heads.push_back(file.head());
  const Detected detected = format.empty() ? detect(files, heads) : read_as(format, files, heads);

  ImportBuilder builder;
  trace::ErrorList errors;
  try {
    detected.importer->import(detected.parts, builder, errors);
  } catch (const trace::ParseError& error) {
    errors.add(names_of(files), error.message);
  }
  if (!errors.empty()) throw UserError("import", errors.errors("import"));

  trace::Header& header = builder.header();
  header.generator = std::string("uvmsim ") + kVersion + " import " + detected.format;
  if (header.name.empty()) header.name = files.front().name().substr(files.front().name().rfind('/') + 1);
  if (header.operands_status.empty()) header.operands_status = "none";
  trace::Trace trace = builder.take();
  const std::vector<InputError> broken = check_trace(trace);
  UVMSIM_CHECK(broken.empty(), broken.empty() ? "" : broken.front().message.c_str());
  return trace;
}

}  // namespace uvmsim
