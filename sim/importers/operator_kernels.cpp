#include "importers/operator_kernels.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <optional>
#include <span>
#include <utility>

#include "workload/generators/dnn/matrix_operands.h"
#include "workload/generators/dnn/torch_kernels.h"

namespace uvmsim {
namespace {

using trace::Access;
using trace::Mode;
using trace::Pattern;
using trace::PatternOptions;

constexpr std::int64_t kFloat = 4, kIndex = 8;             // bytes
constexpr std::int64_t kChunk = dnn::kListChunk * kFloat;  // bytes
constexpr std::int64_t kMostExtent = trace::kMostInt32;    // of a matrix

std::int64_t ceil_div(std::int64_t a, std::int64_t b) { return (a + b - 1) / b; }

// "addmm" of "aten.addmm.default" and "aten::addmm".
std::string_view base_name(std::string_view op) {
  for (const std::string_view space : {"aten.", "aten::"})
    if (op.starts_with(space)) op.remove_prefix(space.size());
  return op.substr(0, op.find('.'));
}

bool is_one_of(std::string_view name, std::span<const std::string_view> names) {
  return std::ranges::find(names, name) != names.end();
}

class Shaper {
 public:
  // What the launches before have told.
  struct Before {
    std::int64_t ctas = 0;    // of the same call: an operator over lists has several kernels, each with a part of them
    std::int64_t images = 0;  // of a batch; 0: not known
  };
  Shaper(const OperatorKernel& kernel, std::vector<Access> operands, Before before, ImportBuilder& into)
      : kernel_(kernel), op_(base_name(kernel.op)), all_(std::move(operands)), before_(before), into_(into) {
    for (Access& access : all_) (access.mode == Mode::Write ? writes_ : reads_).push_back(&access);
  }

  std::vector<Access> shape() {
    if (OperatorKernels::takes_lists(kernel_.kernel)) return part_of_lists();
    if (has("FillFunctor")) keep_writes();
    if (!product() && !rows() && !channels() && !table() && !classes()) slices();
    return std::move(all_);
  }

 private:
  bool has(std::string_view part) const { return kernel_.kernel.find(part) != std::string_view::npos; }
  std::int64_t ctas() const { return product_of(kernel_.grid); }
  std::int64_t bytes(const Access& access) const {
    return access.length >= 0 ? access.length : into_.size_of(access.tensor) - access.offset;
  }
  std::int64_t largest() const {
    std::int64_t most = 0;
    for (const Access& access : all_) most = std::max(most, bytes(access));
    return most;
  }
  // Operands with the same options share them, so that one that is read and written stays one.
  void set(Access& access, Pattern pattern, const PatternOptions& options) {
    access.pattern = pattern;
    const auto same = std::ranges::find(made_, options, &std::pair<PatternOptions, std::int32_t>::first);
    access.options = same != made_.end() ? same->second : made_.emplace_back(options, into_.options(options)).second;
  }

  // A fill reads nothing, whatever its operator does.
  void keep_writes() {
    if (writes_.empty()) return;
    std::erase_if(all_, [](const Access& access) { return access.mode != Mode::Write; });
    reads_.clear();
    writes_.clear();
    for (Access& access : all_) writes_.push_back(&access);
  }

  // --- Products ------------------------------------------------------------------------------------------------

  struct Sizes {
    std::int64_t m = 0, n = 0, k = 0, element = 0;
  };
  // C (m x n) = A (m x k) B (k x n): three sizes give the three extents, and only one size of elements whole ones.
  static std::optional<Sizes> sizes(std::int64_t a, std::int64_t b, std::int64_t c) {
    for (const std::int64_t element : {kFloat, std::int64_t{2}, std::int64_t{8}}) {
      const double square =
          static_cast<double>(a) * static_cast<double>(c) / (static_cast<double>(b) * static_cast<double>(element));
      const auto m = static_cast<std::int64_t>(std::llround(std::sqrt(square)));
      if (m < 1 || a % (m * element) != 0 || c % (m * element) != 0) continue;
      const Sizes e{m, c / (m * element), a / (m * element), element};
      if (e.k * e.n * element == b && std::max({e.m, e.n, e.k}) <= kMostExtent) return e;
    }
    return std::nullopt;
  }

  struct Tile {
    std::int64_t rows = 0, columns = 0;  // of C as PyTorch sees it
    bool transposed_a = false, transposed_b = false;
  };
  // Of names such as cutlass_80_simt_sgemm_256x128_8x4_nt_align1 and
  // sm80_xmma_gemm_f32f32_f32f32_f32_tn_n_tilesize64x64x8: the tile, and how cuBLAS, which sees the transposed product,
  // finds B and A.
  std::optional<Tile> tile() const {
    const std::string_view name = kernel_.kernel;
    const std::size_t gemm = name.find("gemm");
    if (gemm == std::string_view::npos) return std::nullopt;
    Tile tile;
    bool sized = false, laid_out = false;
    for (std::size_t at = name.find('_', gemm); at != std::string_view::npos; at = name.find('_', at + 1)) {
      std::string_view word = name.substr(at + 1, name.find('_', at + 1) - at - 1);
      if (word.starts_with("tilesize")) word.remove_prefix(8);
      if (!sized) sized = read_extents(word, tile.columns, tile.rows);
      if (!laid_out && word.size() == 2 && word.find_first_not_of("nt") == word.npos) {
        laid_out = true;
        tile.transposed_b = word[0] == 't';
        tile.transposed_a = word[1] == 't';
      }
      if (sized && laid_out) return tile;
    }
    return std::nullopt;
  }
  static bool read_extents(std::string_view word, std::int64_t& first, std::int64_t& second) {
    const char* end = word.data() + word.size();
    const auto [x, error] = std::from_chars(word.data(), end, first);
    if (error != std::errc() || x == end || *x != 'x') return false;
    return std::from_chars(x + 1, end, second).ec == std::errc() &&
           std::min(first, second) >= trace::kTileExtents.low && std::max(first, second) <= trace::kTileExtents.high;
  }

  // How many columns of tiles go together; 0: all of them. CUTLASS says so in its grid, xmma's x goes down the rows,
  // that of volta_sgemm and ampere_sgemm along them.
  std::int64_t group(const Sizes& e, const Tile& tile) const {
    const std::int64_t rows = ceil_div(e.m, tile.rows), columns = ceil_div(e.n, tile.columns);
    const std::int64_t x = kernel_.grid[0], y = kernel_.grid[1];
    if (has("cutlass")) {
      const std::int64_t together = x / rows;
      return x % rows == 0 && y == ceil_div(columns, together) ? together : 0;
    }
    return x == rows && y == columns && (rows != columns || has("xmma")) ? 1 : 0;
  }

  void matrix(Access& access, std::int64_t rows, std::int64_t columns, std::int64_t element, bool transposed) {
    PatternOptions options{
        .rows = rows, .columns = columns, .leading_dimension = columns * element, .element_bytes = element};
    if (transposed) options.leading_dimension = element, options.stride = rows * element;
    set(access, Pattern::Tile, options);
  }

  bool product() {
    constexpr std::string_view kProducts[] = {"mm", "addmm", "_addmm_activation", "linear"};
    if (!is_one_of(op_, kProducts) || reads_.size() < 2 || writes_.size() != 1) return false;
    const std::size_t first = op_ == "linear" ? 0 : reads_.size() - 2;
    Access &a = *reads_[first], &b = *reads_[first + 1], &c = *writes_[0];
    if (std::max({bytes(a), bytes(b), bytes(c)}) < dnn::kTiledBytes) return false;
    const auto e = sizes(bytes(a), bytes(b), bytes(c));
    const auto tile = this->tile();
    if (!e || !tile) return false;
    matrix(a, e->m, e->k, e->element, tile->transposed_a);
    matrix(b, e->k, e->n, e->element, tile->transposed_b);
    set(c, Pattern::Tile,
        {.rows = e->m,
         .columns = e->n,
         .leading_dimension = e->n * e->element,
         .element_bytes = e->element,
         .count = group(*e, *tile),
         .cta_rows = static_cast<std::int32_t>(tile->rows),
         .cta_columns = static_cast<std::int32_t>(tile->columns)});
    return true;
  }

  // --- Rows ----------------------------------------------------------------------------------------------------

  // A CTA for each row of the largest operands.
  bool rows() {
    if (!has("cunn_SoftMax") && !has("layer_norm_kernel") && !has("layer_norm_grad_input")) return false;
    const std::int64_t most = largest();
    if (ctas() > kMostExtent || most % (ctas() * kFloat) != 0) return false;
    const std::int64_t row = most / ctas();
    if (row / kFloat > kMostExtent) return false;
    for (Access& access : all_)
      if (bytes(access) == most)
        set(access, Pattern::Rows, {.rows = ctas(), .columns = row / kFloat, .leading_dimension = row});
    return true;
  }

  // cuDNN's batch normalisation: a CTA per channel of images that lie channel by channel.
  bool channels() {
    if ((!has("bn_fw_tr_1C11") && !has("bn_bw_1C11")) || ctas() > trace::kMostChannels) return false;
    const std::int64_t most = largest();
    const std::int64_t planes = ctas() * before_.images;
    if (planes < 1 || most % (planes * kFloat) != 0) return false;
    for (Access& access : all_) {
      if (bytes(access) != most) continue;
      // One keeps a channel of all images in registers, others read it twice.
      const bool keeps = has("singleread");
      set(access, Pattern::Channels, {.width = keeps ? most / ctas() : 0, .stride = most / planes, .count = ctas()});
      if (access.mode == Mode::Read && !keeps) access.passes = 2;
    }
    return true;
  }

  // --- Tables --------------------------------------------------------------------------------------------------

  bool table() { return looks_up() || sums_bags() || updates_rows(); }

  bool rows_of_table(Access& table, std::int64_t count, std::int64_t bytes_of_rows, std::int64_t rows) {
    if (count < 1 || count > trace::kMostTouches || rows < 1 || bytes_of_rows % rows != 0) return false;
    set(table, Pattern::Random, {.width = bytes_of_rows / rows, .count = count});
    return true;
  }

  // Rows of a table by their index.
  bool looks_up() {
    constexpr std::string_view kLookups[] = {"embedding", "index_select"};
    if (!is_one_of(op_, kLookups) || reads_.size() != 2 || writes_.size() != 1) return false;
    const std::int64_t count = bytes(*reads_[1]) / kIndex;
    return rows_of_table(*reads_[0], count, bytes(*writes_[0]), count);
  }

  // Each bag begins at an offset, and sums the rows that its indices name.
  bool sums_bags() {
    if (!op_.starts_with("_embedding_bag") || op_.ends_with("backward") || reads_.size() < 3 || writes_.empty())
      return false;
    return rows_of_table(*reads_[0], bytes(*reads_[1]) / kIndex, bytes(*writes_[0]), bytes(*reads_[2]) / kIndex);
  }

  // Adds rows to those of their index: a sparse tensor is its indices and its values.
  bool updates_rows() {
    constexpr std::string_view kUpdates[] = {"add_", "index_add_"};
    if (!is_one_of(op_, kUpdates) || reads_.size() != 3 || writes_.size() != 1) return false;
    if (writes_[0]->tensor != reads_[0]->tensor) return false;
    const std::int64_t count = bytes(*reads_[1]) / kIndex, all = bytes(*reads_[2]);
    return rows_of_table(*reads_[0], count, all, count) && rows_of_table(*writes_[0], count, all, count);
  }

  // One class of every row, of as many as there are targets.
  bool classes() {
    const bool forward = op_ == "nll_loss_forward";
    if (!forward && (op_ != "nll_loss_backward" || has("FillFunctor"))) return false;
    if (reads_.size() < (forward ? 2u : 3u) || writes_.empty()) return false;
    const std::int64_t rows = bytes(*reads_[forward ? 1 : 2]) / kIndex;
    Access& scores = forward ? *reads_[0] : *writes_[0];
    if (rows < 1 || bytes(scores) % rows != 0) return false;
    if (!forward) scores.mode = Mode::ReadWrite;  // the zeros around what is written stay
    set(scores, Pattern::Strided,
        {.width = std::min<std::int64_t>(32, bytes(scores) / rows), .stride = bytes(scores) / rows});
    if (!forward)
      std::erase_if(all_, [&](const Access& one) { return bytes(one) >= bytes(scores) && one.mode == Mode::Read; });
    return true;
  }

  // --- Sweeps --------------------------------------------------------------------------------------------------

  // A CTA takes one part of each operand, in one piece, unless it loops over the grid: element-wise kernels of
  // TensorIterator, vectorized or not, and kernels whose grid has more than one dimension.
  void slices() {
    constexpr std::int64_t kMostUnrolledBytes = 256;  // of a thread; what takes more in one dimension is a loop
    const bool in_tiles = ctas() > kernel_.grid[0] && !has("CatArrayBatchedCopy");
    const bool by_element = has("elementwise_kernel") && !has("grid_stride");
    if ((!in_tiles && !by_element) || kernel_.block < 1 || kernel_.block > trace::kMostThreads) return;
    const std::int64_t threads = ctas() * kernel_.block;
    for (Access& access : all_) {
      const std::int64_t of_a_thread = ceil_div(bytes(access), threads);
      if (of_a_thread > kFloat && (in_tiles || of_a_thread <= kMostUnrolledBytes))
        set(access, Pattern::Sequential, {.element_bytes = of_a_thread});
    }
  }

  // CTA i of a call takes the i-th chunk of 65536 elements of the lists' tensors, one tensor after the other; a kernel
  // has as many as fit into its arguments.
  std::vector<Access> part_of_lists() {
    const auto updated = static_cast<std::size_t>(std::ranges::count(all_, Mode::ReadWrite, &Access::mode));
    const std::size_t tensors = writes_.empty() ? updated : writes_.size();
    if (tensors == 0 || all_.size() % tensors != 0) return std::move(all_);
    std::vector<Access> part;
    std::int64_t next = 0;  // chunks of the tensors before
    for (std::size_t i = 0; i < tensors; ++i) {
      const std::int64_t chunks = ceil_div(bytes(all_[i]), kChunk);
      const std::int64_t from = std::max<std::int64_t>(0, before_.ctas - next);
      const std::int64_t to = std::min(chunks, before_.ctas + ctas() - next);
      next += chunks;
      if (from >= to) continue;
      for (std::size_t list = i; list < all_.size(); list += tensors)
        add_chunks(all_[list], from * kChunk, to * kChunk, part);
    }
    return part;
  }
  void add_chunks(const Access& whole, std::int64_t from, std::int64_t to, std::vector<Access>& part) {
    const auto access = into_.access(whole.tensor, whole.mode, whole.offset + from, std::min(to, bytes(whole)) - from);
    if (!access) return;
    part.push_back(*access);
    if (to - from > kChunk)
      set(part.back(), Pattern::Rows,
          {.rows = (to - from) / kChunk, .columns = kChunk / kFloat, .leading_dimension = kChunk});
  }

  const OperatorKernel& kernel_;
  std::string_view op_;
  std::vector<Access> all_;
  std::vector<Access*> reads_, writes_;  // of all_; what is both is among the reads
  std::vector<std::pair<PatternOptions, std::int32_t>> made_;
  const Before before_;
  ImportBuilder& into_;
};

}  // namespace

bool OperatorKernels::takes_lists(std::string_view kernel) {
  return kernel.find("multi_tensor_apply_kernel") != std::string_view::npos;
}

std::vector<Access> OperatorKernels::operands(const OperatorKernel& kernel, std::vector<Access> operands) {
  const std::int64_t ctas = product_of(kernel.grid);
  if (ctas < 1 || ctas > trace::kMostCtas) return operands;
  if (std::exchange(call_, kernel.call) != kernel.call) {
    ctas_ = 0;
    // A convolution first brings its input into another layout, image by image.
    if (base_name(kernel.op).ends_with("convolution") &&
        kernel.kernel.find("nchwToNhwcKernel") != std::string_view::npos)
      images_ = kernel.grid[2];
  }
  std::vector<Access> shaped = Shaper(kernel, std::move(operands), {ctas_, images_}, into_).shape();
  ctas_ = std::min(ctas_ + ctas, trace::kMostCtas);
  return shaped;
}

}  // namespace uvmsim
