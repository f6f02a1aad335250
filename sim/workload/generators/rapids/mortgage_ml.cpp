#include <algorithm>
#include <bit>

#include "workload/generators/rapids/recorder.h"

namespace uvmsim::rapids {
namespace {

struct Parameters : DataParameters {
  Parameters() { parts = 3; }
  int max_depth = 8, max_bins = 256;
};

constexpr std::int64_t kFeatures = kTableColumns - 1;
constexpr std::int64_t kEntry = 8;                      // of the host's matrix: a feature's index and its value
constexpr std::int64_t kGradientPair = 8;               // two floats
constexpr std::int64_t kHistogramPair = 16;             // two doubles
constexpr std::int64_t kBatch = std::int64_t{2} << 30;  // entries uploaded at once: a sixteenth of a 32 GiB card

// What workers exchange, "comm" in the header: a kind behind those of all generated traces.
constexpr TensorKind kCommunication{static_cast<std::uint8_t>(TensorKind::Other) + 1};

// Trees grown by histograms (gpu_hist). The matrix holds one bin per row and feature, packed into as few bits as it
// takes to tell the bins of all features apart.
class Training {
 public:
  Training(const Parameters& p, Recorder& recorder)
      : p_(p), recorder_(recorder), rows_(p.parts * p.rows_per_part()), bins_(kFeatures * p.max_bins) {
    recorder_.trace().phase("matrix");
    matrix_ = allocate(matrix_bytes(rows_), TensorKind::Input);
    labels_ = allocate(rows_ * 4, TensorKind::Input);
    recorder_.upload(labels_);
    pack();
    predictions_ = allocate(rows_ * 4, TensorKind::Other);
    recorder_.kernel("fill", {write(predictions_)});
    gradients_ = allocate(rows_ * kGradientPair, TensorKind::Gradient);
    for (int side = 0; side < 2; ++side) {
      row_indices_.push_back(allocate(rows_ * 4, TensorKind::Other));
      positions_.push_back(allocate(rows_ * 4, TensorKind::Other));
    }
    histograms_ = allocate((std::int64_t{2} << p.max_depth) * bins_ * kHistogramPair, kCommunication);
  }

  // One tree. max_leaves of the demo, 256, is what a full tree of depth 8 has: no further limit. The demo grows it
  // leaf by leaf, which sums the same rows as level by level.
  void round() {
    recorder_.trace().phase("gradients");
    recorder_.kernel("get_gradient", {read(predictions_), read(labels_), write(gradients_)});
    recorder_.kernel("reset_rows", {write(row_indices_[0]), write(positions_[0])});
    for (int depth = 0; depth < p_.max_depth; ++depth) level(depth);
    recorder_.trace().phase("predictions");
    recorder_.kernel("update_predictions", {read(positions_[0]),
                                            read(row_indices_[0]),
                                            {predictions_.get(), trace::Mode::ReadWrite, predictions_->bytes()}});
  }

 private:
  BufferRef allocate(std::int64_t bytes, TensorKind kind) { return recorder_.allocate(bytes, kind); }

  // Entries come from the host in batches of rows, and each batch is packed.
  void pack() {
    const std::int64_t batch = std::min(rows_, kBatch / (kFeatures * kEntry));
    const BufferRef entries = allocate(batch * kFeatures * kEntry, TensorKind::Workspace);
    for (std::int64_t first = 0; first < rows_; first += batch) {
      const std::int64_t outer = std::min(first + batch, rows_), bytes = (outer - first) * kFeatures * kEntry;
      recorder_.upload(entries, bytes);
      Use packed = write(matrix_, matrix_bytes(outer) - matrix_bytes(first));
      packed.offset = matrix_bytes(first);
      recorder_.kernel("compress_bins", {read(entries, bytes), packed});
    }
  }

  std::int64_t matrix_bytes(std::int64_t rows) const {
    const auto bits = static_cast<std::int64_t>(std::bit_width(static_cast<std::uint64_t>(bins_)));
    return (rows * kFeatures * bits + 7) / 8;
  }

  // Histograms of one child of each node (the other's is the difference), the best splits, the rows' new nodes.
  void level(int depth) {
    recorder_.trace().phase("level");
    const std::int64_t nodes = std::int64_t{1} << depth, summed = std::max<std::int64_t>(1, nodes / 2);
    const std::int64_t node = bins_ * kHistogramPair;
    // Half of the rows are summed, but they stand among the others: the sweep moves the whole matrix.
    recorder_.kernel("build_histogram", {read(row_indices_[0]),
                                         read(gradients_),
                                         read(matrix_),
                                         {histograms_.get(), trace::Mode::ReadWrite, summed * node}});
    all_reduce(summed * node);
    if (depth > 0)
      recorder_.kernel("subtract_histogram", {read(histograms_, summed * node), write(histograms_, nodes * node)});
    recorder_.kernel("evaluate_splits", {read(histograms_, nodes * node)});
    recorder_.kernel("update_position", {read_anywhere(matrix_, rows_), read(row_indices_[0]), write(positions_[1])});
    recorder_.kernel("partition_rows",
                     {read(positions_[1]), read(row_indices_[0]), write(row_indices_[1]), write(positions_[0])});
    row_indices_[0].swap(row_indices_[1]);
  }

  void all_reduce(std::int64_t bytes) {
    recorder_.trace().collective({.kind = trace::Collective::AllReduce, .bytes = bytes},
                                 {at(updates(histograms_->tensor()), 0, bytes)});
  }

  const Parameters& p_;
  Recorder& recorder_;
  const std::int64_t rows_, bins_;
  BufferRef matrix_, labels_, predictions_, gradients_, histograms_;
  std::vector<BufferRef> row_indices_, positions_;  // what the level reads, and what it writes
};

// XGBoost's gpu_hist on one worker's part of the table. An iteration is one boosting round; the demo runs 100. What
// comes before the first packs the matrix.
class MortgageMl final : public Generator {
 public:
  static const Description& description() {
    using P = Parameters;
    static const Description description = [] {
      auto d = describe_data<P>("RAPIDS mortgage demo, ML: XGBoost gpu_hist on one worker's table");
      describe_random(d);
      d.integer("max_depth", &P::max_depth, "levels of a tree", {1, 16}, "levels")
          .integer("max_bins", &P::max_bins, "bins of a feature", {2, 65'536}, "bins");
      return d.build();
    }();
    return description;
  }
  DescribedObject parameters() override { return {&description(), &p_}; }
  std::string_view sort() const override { return "data frames"; }

  trace::Trace generate(int iterations) const override {
    TraceBuilder trace(header_of("mortgage_ml", p_.parts * p_.rows_per_part()));
    trace.header().kinds.push_back("comm");
    Recorder recorder(p_, trace);
    Training training(p_, recorder);
    for (int i = 0; i < iterations; ++i) {
      trace.iteration(i);
      training.round();
    }
    return trace.take();  // the process ends holding its memory
  }

 private:
  Parameters p_;
};

[[maybe_unused]] const bool kRegistered = add_plug_in<Generator, MortgageMl>(
    {.name = "mortgage_ml",
     .summary = "RAPIDS mortgage demo, ML of one worker: XGBoost gpu_hist",
     .source = "rapidsai/notebooks mortgage/E2E.ipynb of 2019-01-29, re-enacted on sizes; XGBoost 0.8x"});

}  // namespace
}  // namespace uvmsim::rapids
