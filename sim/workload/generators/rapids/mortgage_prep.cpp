#include "workload/generators/rapids/cudf.h"

namespace uvmsim::rapids {
namespace {

struct Parameters : DataParameters {
  Parameters() { parts = 3; }  // 20 files on 8 workers
};

// Arrow tables in host memory to one XGBoost matrix: each part becomes a data frame, the frames become one, and
// that is handed over column by column. One worker of one GPU; an iteration is the whole of it.
//
// Assumed: the DMatrix of the time keeps its entries on the host, so that one column at a time is converted and
// copied. (Eight bytes per entry on the device would not have fit where the original run did.)
class MortgagePrep final : public Generator {
 public:
  static const Description& description() {
    static const Description description = [] {
      auto d = describe_data<Parameters>("RAPIDS mortgage demo, PREP: one worker's Arrow tables to an XGBoost matrix");
      describe_host(d);
      return d.build();
    }();
    return description;
  }
  DescribedObject parameters() override { return {&description(), &p_}; }
  std::string_view sort() const override { return "data frames"; }

  trace::Trace generate(int iterations) const override {
    TraceBuilder trace(header_of("mortgage_prep", p_.parts * p_.rows_per_part()));
    Recorder recorder(p_, trace);
    for (int i = 0; i < iterations; ++i) {
      trace.iteration(i);
      trace.phase("from arrow");
      std::vector<Frame> parts;
      for (int part = 0; part < p_.parts; ++part) parts.push_back(from_arrow(recorder));
      trace.phase("concat");
      const Frame table = Cudf(recorder).concat(parts);
      release(parts);
      trace.phase("dmatrix");
      for (const auto& [name, column] : table) {
        const BufferRef converted = recorder.allocate(column.data->bytes(), TensorKind::Workspace);
        recorder.kernel("dmatrix_column", {read(column.data), write(converted)});
        recorder.download(converted);
      }
    }
    return trace.take();
  }

 private:
  Frame from_arrow(Recorder& recorder) const {
    Frame frame;
    for (int i = 0; i < kTableColumns; ++i) {
      Column& column = frame["column " + std::to_string(i)];
      column = Cudf(recorder).column(p_.rows_per_part(), Type::Float32);
      recorder.host(column.data->bytes());
      recorder.upload(column.data);
      recorder.upload(column.mask);
    }
    return frame;
  }

  Parameters p_;
};

[[maybe_unused]] const bool kRegistered = add_plug_in<Generator, MortgagePrep>(
    {.name = "mortgage_prep",
     .summary = "RAPIDS mortgage demo, PREP of one worker",
     .source = "rapidsai/notebooks mortgage/E2E.ipynb of 2019-01-29, re-enacted on sizes"});

}  // namespace
}  // namespace uvmsim::rapids
