// What the kernels of PyTorch's operators touch, by their names, launches and sizes.
#include "importers/operator_kernels.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace uvmsim {
namespace {

using testing::ElementsAre;
using trace::Access;
using trace::Mode;
using trace::Pattern;
using trace::PatternOptions;

class OperatorKernelsTest : public testing::Test {
 protected:
  // A tensor of its own, all of it.
  Access reads(std::int64_t bytes) { return of(bytes, Mode::Read); }
  Access writes(std::int64_t bytes) { return of(bytes, Mode::Write); }

  // The next kernel of operator `op`, which is called anew unless `again`.
  const std::vector<Access>& kernel(const std::string& op, const std::string& name, Extents grid, std::int64_t block,
                                    std::vector<Access> operands, bool again = false) {
    if (!again) ++call_;
    accesses_ =
        kernels_.operands({.call = call_, .op = op, .kernel = name, .grid = grid, .block = block}, std::move(operands));
    into_.kernel({.name = name}, accesses_);
    trace_ = into_copy();
    return accesses_;
  }
  PatternOptions options(std::size_t i) const {
    return trace_.options.at(static_cast<std::size_t>(accesses_.at(i).options));
  }
  const std::vector<Access>& accesses() const { return accesses_; }
  const Access& accesses_of(std::size_t i) const { return accesses_.at(i); }
  std::vector<Pattern> patterns() const {
    std::vector<Pattern> all;
    for (const Access& access : accesses_) all.push_back(access.pattern);
    return all;
  }

 private:
  Access of(std::int64_t bytes, Mode mode) { return *into_.access(into_.allocate(bytes), mode); }
  trace::Trace into_copy() {
    ImportBuilder copy = into_;
    return copy.take();
  }

  ImportBuilder into_;
  OperatorKernels kernels_{into_};
  std::int64_t call_ = 0;
  std::vector<Access> accesses_;
  trace::Trace trace_;
};

constexpr std::int64_t kF = 4;

// y (4096 x 2304) = x (4096 x 768) w (768 x 2304) + b: tiles of 64 x 64 make a grid of 64 rows by 36 columns of them,
// rows first, so one column of tiles is made after the other.
TEST_F(OperatorKernelsTest, AProductHasTheTilesAndTheOrderOfItsLaunch) {
  kernel("aten.addmm.default", "sm80_xmma_gemm_f32f32_f32f32_f32_nn_n_tilesize64x64x8_stage3_warpsize1x4x1",
         {64, 36, 1}, 128,
         {reads(2304 * kF), reads(4096 * 768 * kF), reads(768 * 2304 * kF), writes(4096 * 2304 * kF)});
  EXPECT_THAT(patterns(), ElementsAre(Pattern::Sequential, Pattern::Tile, Pattern::Tile, Pattern::Tile));
  EXPECT_EQ(options(1), (PatternOptions{.rows = 4096, .columns = 768, .leading_dimension = 768 * kF}));
  EXPECT_EQ(options(2), (PatternOptions{.rows = 768, .columns = 2304, .leading_dimension = 2304 * kF}));
  EXPECT_EQ(options(3), (PatternOptions{.rows = 4096,
                                        .columns = 2304,
                                        .leading_dimension = 2304 * kF,
                                        .count = 1,
                                        .cta_rows = 64,
                                        .cta_columns = 64}));
}

// cuBLAS's 256 x 128 are columns by rows of y (4096 x 3072): 32 rows of 12 tiles. A grid of 256 x 2 is 8 columns of
// tiles at a time, of which the second has 4.
TEST_F(OperatorKernelsTest, CutlassSwizzlesColumnsOfTiles) {
  kernel("aten::mm", "cutlass::Kernel2<cutlass_80_simt_sgemm_256x128_8x4_nn_align1>", {256, 2, 1}, 256,
         {reads(4096 * 768 * kF), reads(768 * 3072 * kF), writes(4096 * 3072 * kF)});
  EXPECT_EQ(options(2).cta_rows, 128);
  EXPECT_EQ(options(2).cta_columns, 256);
  EXPECT_EQ(options(2).count, 8);
}

// The gradient of a weight, 3072 x 768 = (4096 x 3072)^T (4096 x 768): nt, the left one lies transposed.
TEST_F(OperatorKernelsTest, TheNameSaysWhichFactorIsTransposed) {
  kernel("aten.mm.default", "cutlass_80_simt_sgemm_128x256_8x4_nt_align1", {96, 1, 9}, 256,
         {reads(3072 * 4096 * kF), reads(4096 * 768 * kF), writes(3072 * 768 * kF)});
  EXPECT_EQ(options(0), (PatternOptions{.rows = 3072, .columns = 4096, .leading_dimension = kF, .stride = 3072 * kF}));
  EXPECT_EQ(options(1).stride, 0);
}

// Halves: (512 x 1024) (1024 x 2048). Of 4 B an element the sizes would give 512 * sqrt(2) / 2 rows.
TEST_F(OperatorKernelsTest, TheSizesTellHowLargeAnElementIs) {
  kernel("aten::mm", "ampere_fp16_s16816gemm_fp16_128x64_ldg8_f2f_stages_64x3_tn", {16, 8, 1}, 128,
         {reads(512 * 1024 * 2), reads(1024 * 2048 * 2), writes(512 * 2048 * 2)});
  EXPECT_EQ(options(2).rows, 512);
  EXPECT_EQ(options(2).element_bytes, 2);
  EXPECT_EQ(options(2).count, 0) << "16 columns of tiles first";
  EXPECT_GT(options(1).stride, 0);
}

TEST_F(OperatorKernelsTest, ProductsOfOtherSizesOrUnknownKernelsStayAsTheyAre) {
  kernel("aten::mm", "sgemm_64x64_nn", {1, 1, 1}, 128, {reads(3'000'000), reads(5'000'000), writes(7'000'000)});
  EXPECT_THAT(patterns(), testing::Each(Pattern::Sequential));
  kernel("aten::mm", "mystery", {64, 36, 1}, 1024, {reads(4 << 20), reads(4 << 20), writes(4 << 20)});
  EXPECT_THAT(patterns(), testing::Each(Pattern::Sequential));
}

TEST_F(OperatorKernelsTest, SoftmaxAndLayerNormHaveACtaPerRow) {
  kernel("aten._log_softmax.default", "cunn_SoftMaxForward<4, float>", {700, 1, 1}, 1024,
         {reads(700 * 33278 * kF), writes(700 * 33278 * kF)});
  EXPECT_EQ(options(0), (PatternOptions{.rows = 700, .columns = 33278, .leading_dimension = 33278 * kF}));
  EXPECT_EQ(options(1), options(0));
  kernel("aten.native_layer_norm.default", "vectorized_layer_norm_kernel<float, float, false>", {4096, 1, 1}, 32,
         {reads(4096 * 768 * kF), reads(768 * kF), writes(4096 * 768 * kF)});
  EXPECT_THAT(patterns(), ElementsAre(Pattern::Rows, Pattern::Sequential, Pattern::Rows));
}

// 700 indices of 8 B, 800 B for each in the result.
TEST_F(OperatorKernelsTest, AnEmbeddingReadsTheRowsOfItsIndices) {
  kernel("aten.embedding.default", "vectorized_gather_kernel<16, long>", {700, 1, 1}, 64,
         {reads(33278 * 800), reads(700 * 8), writes(700 * 800)});
  EXPECT_EQ(accesses_of(0).pattern, Pattern::Random);
  EXPECT_EQ(options(0), (PatternOptions{.width = 800, .count = 700}));
}

// 700 indices in 350 bags, whose sums are of 800 B.
TEST_F(OperatorKernelsTest, ABagSumsTheRowsOfItsIndices) {
  kernel("aten._embedding_bag.default", "EmbeddingBag_updateOutputKernel_sum_mean<float, long>", {175, 1, 1}, 256,
         {reads(33278 * 800), reads(700 * 8), reads(350 * 8), writes(350 * 800), writes(700 * 8), writes(350 * 8)});
  EXPECT_EQ(options(0), (PatternOptions{.width = 800, .count = 700}));
  EXPECT_THAT(patterns(), ElementsAre(Pattern::Random, Pattern::Sequential, Pattern::Sequential, Pattern::Sequential,
                                      Pattern::Sequential, Pattern::Sequential));
}

// A sparse tensor of 700 rows of 800 B: its indices and its values. The table is read and written.
TEST_F(OperatorKernelsTest, ATablePlusASparseTensorUpdatesItsRows) {
  const Access table = reads(33278 * 800);
  Access written = table;
  written.mode = Mode::Write;
  kernel("aten.add_.Tensor", "indexFuncLargeIndex<float, long, unsigned int, 2, 2, -2, true>", {264, 1, 1}, 128,
         {table, reads(700 * 8), reads(700 * 800), written});
  EXPECT_EQ(options(0), (PatternOptions{.width = 800, .count = 700}));
  EXPECT_THAT(patterns(), ElementsAre(Pattern::Random, Pattern::Sequential, Pattern::Sequential, Pattern::Random));
}

// 700 targets: a sector of each row. The gradient is zeroed first, by a kernel that reads nothing; then it is updated.
TEST_F(OperatorKernelsTest, TheLossOfClassesTouchesOneOfEachRow) {
  kernel("aten.nll_loss_forward.default", "nll_loss_forward_reduce_cuda_kernel_2d<float, float, long>", {1, 1, 1}, 32,
         {reads(700 * 1000 * kF), reads(700 * 8), writes(kF)});
  EXPECT_EQ(options(0), (PatternOptions{.width = 32, .stride = 1000 * kF}));

  const std::vector<Access> backward = {reads(kF), reads(700 * 1000 * kF), reads(700 * 8), reads(kF),
                                        writes(700 * 1000 * kF)};
  kernel("aten.nll_loss_backward.default", "vectorized_elementwise_kernel<4, FillFunctor<float>>", {684, 1, 1}, 128,
         backward);
  ASSERT_EQ(accesses().size(), 1u);
  EXPECT_EQ(accesses_of(0).mode, Mode::Write);
  kernel("aten.nll_loss_backward.default", "nll_loss_backward_reduce_cuda_kernel_2d<float, long>", {1, 1, 1}, 32,
         backward, true);
  ASSERT_EQ(accesses().size(), 4u) << "the scores are not read";
  EXPECT_EQ(accesses_of(3).mode, Mode::ReadWrite);
  EXPECT_EQ(options(3), (PatternOptions{.width = 32, .stride = 1000 * kF}));
}

// 12288 CTAs of 128 threads over 12 Mi floats: 32 B a thread, the CTA's 4 KiB in one piece. A mask of bytes has 8 B.
// What loops over its grid stays a sweep.
TEST_F(OperatorKernelsTest, ElementwiseKernelsTakeOnePieceEach) {
  const std::int64_t elements = 12288 * 128 * 8;
  kernel("aten.mul.Tensor", "vectorized_elementwise_kernel<4, BinaryFunctor<float>>", {12288, 1, 1}, 128,
         {reads(elements * kF), reads(elements), writes(elements * kF)});
  EXPECT_THAT(patterns(), testing::Each(Pattern::Sequential));
  EXPECT_EQ(options(0).element_bytes, 32);
  EXPECT_EQ(options(1).element_bytes, 8);
  kernel("aten.random_.from", "distribution_elementwise_grid_stride_kernel<unsigned int, 4>", {528, 1, 1}, 256,
         {writes(elements * kF)});
  EXPECT_EQ(accesses_of(0).options, -1);
}

// Chunks of 64 Ki floats: the first tensor has 3 of them, the second one and a half, the third less than one. Of the 6
// CTAs the first kernel has 4.
TEST_F(OperatorKernelsTest, AKernelOverListsHasItsPartOfThem) {
  constexpr std::int64_t chunk = 65536 * kF;
  const Access a = reads(3 * chunk), b = reads(chunk + chunk / 2), c = reads(400);
  const auto written = [](Access access) { return access.mode = Mode::Write, access; };
  const std::vector<Access> operands = {a, b, c, written(a), written(b), written(c)};
  kernel("aten._foreach_mul_.Scalar", "multi_tensor_apply_kernel<TensorListMetadata<1>>", {4, 1, 1}, 512, operands);
  ASSERT_EQ(accesses().size(), 4u) << "read, then written";
  EXPECT_EQ(accesses_of(0).tensor, a.tensor);
  EXPECT_EQ(options(0), (PatternOptions{.rows = 3, .columns = 65536, .leading_dimension = chunk}));
  EXPECT_EQ(accesses_of(2).tensor, b.tensor);
  EXPECT_EQ(accesses_of(2).length, chunk);
  kernel("aten._foreach_mul_.Scalar", "multi_tensor_apply_kernel<TensorListMetadata<1>>", {2, 1, 1}, 512, operands,
         true);
  ASSERT_EQ(accesses().size(), 4u);
  EXPECT_EQ(accesses_of(0).tensor, b.tensor);
  EXPECT_EQ(accesses_of(0).offset, chunk);
  EXPECT_EQ(accesses_of(2).tensor, c.tensor);
  EXPECT_EQ(accesses_of(2).length, -1) << "to its end";
}

// Of a launch that nobody knows, and of one that makes no sense, nothing follows.
TEST_F(OperatorKernelsTest, WithoutAGridOperandsStayAsTheyAre) {
  constexpr std::int64_t most = std::int64_t{1} << 62;
  for (const Extents grid : {Extents{}, Extents{most, most, most}, Extents{-1, 1, 1}}) {
    kernel("aten.mul.Tensor", "vectorized_elementwise_kernel<4>", grid, 128, {reads(1 << 20), writes(1 << 20)});
    EXPECT_EQ(accesses_of(0).options, -1);
    kernel("aten._foreach_mul_.Scalar", "multi_tensor_apply_kernel<>", grid, 512, {reads(1 << 20), writes(1 << 20)});
    EXPECT_EQ(accesses().size(), 2u);
  }
}

// cuDNN changes the layout of 32 images before it convolves them. Then a channel of 64 has 32 planes of 56 x 56.
TEST_F(OperatorKernelsTest, BatchNormalisationWalksItsChannelsOnceTheImagesAreKnown) {
  constexpr std::int64_t plane = 56 * 56 * kF, all = 32 * 64 * plane;
  const auto normalise = [&](const std::string& name) {
    kernel("aten.cudnn_batch_norm.default", name, {64, 1, 1}, 512, {reads(all), reads(256), writes(256), writes(all)});
  };
  normalise("cudnn::bn_fw_tr_1C11_kernel_NCHW<float>");
  EXPECT_THAT(patterns(), testing::Each(Pattern::Sequential));
  kernel("aten.convolution.default", "cudnn::engines_precompiled::nchwToNhwcKernel<float>", {98, 2, 32}, 256,
         {reads(all), reads(1024), writes(all)});
  normalise("cudnn::bn_fw_tr_1C11_kernel_NCHW<float>");
  EXPECT_THAT(patterns(), ElementsAre(Pattern::Channels, Pattern::Sequential, Pattern::Sequential, Pattern::Channels));
  EXPECT_EQ(options(0), (PatternOptions{.stride = plane, .count = 64}));
  EXPECT_EQ(accesses_of(0).passes, 2);
  normalise("cudnn::bn_fw_tr_1C11_singleread<float>");
  EXPECT_EQ(options(0), (PatternOptions{.width = 32 * plane, .stride = plane, .count = 64}));
  EXPECT_EQ(accesses_of(0).passes, 1);
}

}  // namespace
}  // namespace uvmsim
