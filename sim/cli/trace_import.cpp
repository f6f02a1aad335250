#include "cli/trace_import.h"

#include <memory>
#include <ostream>

#include "base/printable.h"
#include "base/user_error.h"
#include "cli/config_files.h"
#include "cli/output_file.h"
#include "importers/importer.h"
#include "importers/text_fields.h"
#include "study/experiment.h"
#include "trace/reader.h"
#include "trace/writer.h"
#include "workload/cut.h"
#include "workload/iterations.h"
#include "workload/retarget.h"

namespace uvmsim {
namespace {

constexpr int kLevel = 3;

struct ImportArguments {
  std::vector<std::string> files;
  std::string out, format;
  bool keep_iterations = false;
};
struct CutArguments {
  std::string file, out, iterations;
};
struct RetargetArguments {
  std::string file, out, from, to;
};

void write(const trace::Trace& trace, const std::string& path, const std::vector<std::string>& inputs) {
  OutputFile file(path, inputs);
  write_trace(trace, file.stream(), {.zstd_level = path.ends_with(".zst") ? kLevel : 0});
  file.keep();
}

void import(const ImportArguments& arguments, Console& console) {
  std::vector<ImportFile> files;
  for (const std::string& path : arguments.files) files.push_back(ImportFile::at(path));
  trace::Trace trace = import_files(files, arguments.format);
  if (!arguments.keep_iterations && !has_iterations(trace)) mark_iterations(trace);
  write(trace, arguments.out, arguments.files);
  console.err << printable(arguments.out) << ": " << trace.records.size() << " records, "
              << printable(trace.header.generator) << "\n";
  for (const std::string& unknown : trace.header.unknowns) console.err << "  unknown: " << printable(unknown) << "\n";
}

void cut(const CutArguments& arguments) {
  const auto parts = split(arguments.iterations, ':');
  const auto first = number_of<std::int64_t>(parts[0]);
  const auto end = parts.size() == 2 ? number_of<std::int64_t>(parts[1]) : std::nullopt;
  if (!first || !end || *first < 0 || *end <= *first)
    throw UserError("--iterations",
                    "expected FIRST:END with FIRST below END, such as 2:4 for the iterations 2 and 3, found " +
                        in_quotes(arguments.iterations));
  write(cut_iterations(trace::read_trace(arguments.file), *first, *end), arguments.out, {arguments.file});
}

void retarget_file(const RetargetArguments& arguments) {
  const GpuSpec from = bundled_gpu("--from", arguments.from), to = bundled_gpu("--to", arguments.to);
  trace::Trace trace = trace::read_trace(arguments.file);
  retarget(trace, from, to);
  write(trace, arguments.out, {arguments.file});
}

Option add_output(Verb verb, std::string& out) {
  return verb.option("-o,--output", out, "the file to write; compressed when its name ends in .zst").required();
}

}  // namespace

void add_trace_import(Verb trace, Console& console) {
  auto importing = std::make_shared<ImportArguments>();
  Verb verb = trace.verb("import", "make a trace from what another program recorded");
  verb.option("files", importing->files, "files in one format from one run; some formats need several").required();
  add_output(verb, importing->out);
  verb.option("--format", importing->format, "a name from `uvmsim list importer`; default: detected from the content");
  verb.flag("--no-iterations", importing->keep_iterations, "do not look for iterations where the files mark none");
  verb.run([importing, &console] { import(*importing, console); });

  auto cutting = std::make_shared<CutArguments>();
  verb = trace.verb("cut", "keep some iterations of a trace and what is alive when they begin");
  verb.option("file", cutting->file, "a trace, plain or .zst").required();
  verb.option("--iterations", cutting->iterations,
              "FIRST:END, counted from 0 in the order of the file; END itself is left out")
      .required();
  add_output(verb, cutting->out);
  verb.run([cutting] { cut(*cutting); });

  auto moving = std::make_shared<RetargetArguments>();
  verb = trace.verb("retarget", "scale kernel durations to another GPU by the two GPUs' rooflines");
  verb.option("file", moving->file, "a trace, plain or .zst").required();
  verb.option("--from", moving->from, "the bundled machine whose GPU gave the durations").required();
  verb.option("--to", moving->to, "the bundled machine whose GPU they are scaled to").required();
  add_output(verb, moving->out);
  verb.run([moving] { retarget_file(*moving); });
}

}  // namespace uvmsim
