// Language models, transformers and the recommender: parameters, memory and kernels of one iteration.
#include <gtest/gtest.h>
#include <string>

#include "support/generate.h"
#include "support/trace_totals.h"

namespace uvmsim {
namespace {

using namespace testing_support;

std::int64_t parameter_count(const std::string& model, const std::string& parameters = R"({"batch": 1})") {
  return parameters_of(generate(model, parameters, 1));
}

// nn.Module.parameters() of the published models: encoder 33278 * 256, four gates of 256 in two layers
// 2 * (2 * 1024 * 256 + 2 * 1024), decoder 256 * 33278 + 33278.
TEST(SequenceModels, LanguageModelHasEighteenMillionParameters) {
  EXPECT_EQ(parameter_count("word_language_model", R"({"batch": 1, "bptt": 64})"), 18'124'286);
}

// The head shares its weight with the embedding.
TEST(SequenceModels, Gpt2HasThePublishedParameters) {
  const std::string short_one = R"({"batch": 1, "length": 64})";
  EXPECT_EQ(parameter_count("gpt2", short_one), 124'439'808);
  EXPECT_EQ(parameter_count("gpt2_medium", short_one), 354'823'168);
  EXPECT_EQ(parameter_count("gpt2_large", short_one), 774'030'080);
  EXPECT_EQ(parameter_count("gpt2_xl", short_one), 1'557'611'200);
}

// BertModel with pooler is 109,482,240 (base) and 335,141,888 (large); two labels add 2 * width + 2. Masked language
// modelling has no pooler (width^2 + width) but a transform (width^2 + width), its normalisation (2 * width) and a bias
// per token (30522).
TEST(SequenceModels, BertHasThePublishedParameters) {
  const std::string classification = R"({"batch": 1, "length": 64, "task": "classification"})";
  EXPECT_EQ(parameter_count("bert_base", classification), 109'482'240 + 2 * 768 + 2);
  EXPECT_EQ(parameter_count("bert_large", classification), 335'141'888 + 2 * 1024 + 2);
  const std::string masked_lm = R"({"batch": 1, "length": 64})";
  EXPECT_EQ(parameter_count("bert_base", masked_lm), 109'482'240 + 2 * 768 + 30522);
  EXPECT_EQ(parameter_count("bert_large", masked_lm), 335'141'888 + 2 * 1024 + 30522);
}

TEST(SequenceModels, VitHasThePublishedParameters) {
  EXPECT_EQ(parameter_count("vit_b16"), 86'567'656);
  EXPECT_EQ(parameter_count("vit_l16"), 304'326'632);
}

// Kaggle: 33,762,577 rows of 16, perceptrons 13-512-256-64-16 and 367-512-256-1 (16 + 27 * 26 / 2 = 367 features).
// Terabyte: 187,767,399 rows of 128, 13-512-256-128 and 479-1024-1024-512-256-1.
TEST(SequenceModels, DlrmHasTheParametersOfItsTables) {
  EXPECT_EQ(parameter_count("dlrm"), 33'762'577LL * 16 + 155'984 + 320'001);
  EXPECT_EQ(parameter_count("dlrm", R"({"batch": 1, "data": "terabyte"})"), 187'767'399LL * 128 + 171'392 + 2'197'505);
}

// LSTM layers of 1024 have 4 * 1024 * (in + 1024) + 2 * 4 * 1024 parameters: 8,396,800 from 1024 inputs, 12,591,104
// from 2048. Eight and eight of them: two that read both ways, one after these and six others; one and seven that read
// the context too. Embeddings of 32,000 on both sides, 1024 * 1024 keys and the classifier. Shazeer et al. (2017)
// count 278 M for the paper's, whose scores are additive.
TEST(SequenceModels, GnmtHasTheParametersOfItsLayers) {
  constexpr std::int64_t kNarrow = 8'396'800, kWide = 12'591'104;
  const std::int64_t expected =
      (2 + 6 + 1) * kNarrow + (1 + 7) * kWide + 2 * 32'000LL * 1024 + 1024 * 1024 + 32'000LL * 1024 + 32'000;
  const std::int64_t found = parameter_count("gnmt");
  EXPECT_EQ(found, expected);
  EXPECT_NEAR(static_cast<double>(found), 278e6, 0.01 * 278e6);
}

// Of 4 samples of 10 words: scores of the attention (4, 10, 10), logits (40, 32,000), and per LSTM a reserve of four
// gates, cell, tanh(cell) and output: 7 * 40 * 1024 floats, 17 times.
TEST(SequenceModels, GnmtKeepsScoresLogitsAndReserves) {
  const trace::Trace t = generate("gnmt", R"({"batch": 4, "length": 10})", 1);
  const auto made = [&](std::int64_t bytes) {
    return std::ranges::count(records_of<trace::Alloc>(t), bytes, &trace::Alloc::bytes);
  };
  EXPECT_GE(made(4 * 10 * 10 * 4), 2);
  EXPECT_GE(made(40LL * 32'000 * 4), 2);
  EXPECT_EQ(made(7LL * 40 * 1024 * 4), 17);
}

struct Model {
  const char* dtype;
  int bptt, batch;
  TraceTotals expected;
};

std::string language_model(const char* dtype, int bptt, int batch) {
  return R"({"dtype": ")" + std::string(dtype) + R"(", "bptt": )" + std::to_string(bptt) + R"(, "batch": )" +
         std::to_string(batch) + "}";
}

// The steady iteration of an independent re-enactment of the same eager program in Python (reference counts by
// CPython). Bytes touched are those of that program plus 32 B per word: nll_loss's backward updates the sectors of the
// loss gradient here and writes them there, at half of 900 GB/s.
TEST(SequenceModels, LanguageModelEqualsTheReference) {
  const Model cases[] = {
      {"fp32", 1408, 40, {98, 36, 36, 429'197'990, 99'178'391'488, 31'214'260'212}},
      {"fp32", 1408, 44, {98, 36, 36, 469'493'136, 109'003'122'624, 34'321'186'804}},
      {"fp32", 2800, 22, {140, 36, 36, 503'574'030, 108'565'925'616, 34'127'003'892}},
      {"fp16", 1408, 33, {100, 38, 38, 366'562'863, 84'360'644'580, 28'368'887'292}},
      {"fp16", 1408, 44, {100, 38, 38, 475'449'088, 112'322'184'164, 37'801'017'340}},
      {"fp16", 2800, 22, {142, 38, 38, 511'950'369, 111'775'118'945, 37'586'650'748}},
  };
  for (const Model& c : cases) {
    SCOPED_TRACE(language_model(c.dtype, c.bptt, c.batch));
    const trace::Trace t = generate("word_language_model", language_model(c.dtype, c.bptt, c.batch), 3);
    TraceTotals expected = c.expected;
    const std::int64_t more = 32LL * c.bptt * c.batch;
    expected.bytes_touched += more;
    TraceTotals found = last_iteration_of(t);
    EXPECT_NEAR(static_cast<double>(found.kernel_ns - expected.kernel_ns), static_cast<double>(more) / 450, 1);
    found.kernel_ns = expected.kernel_ns;
    EXPECT_EQ(found, expected);
  }
}

std::int64_t kernels_named(const trace::Trace& t, const std::string& name) {
  return std::ranges::count_if(records_of<trace::Kernel>(t), [&](const trace::Kernel& kernel) {
    return t.strings[static_cast<std::size_t>(kernel.name)] == name;
  });
}

// Eager attention makes products, scaled, masked and normalised scores and their dropout: five tensors of 12 heads x
// 64 x 64 floats per layer, and as many gradients. Flash attention makes none.
TEST(SequenceModels, OnlyEagerAttentionMaterialisesScores) {
  const auto scores = [](const trace::Trace& t) {
    return std::ranges::count_if(records_of<trace::Alloc>(t),
                                 [](const trace::Alloc& a) { return a.bytes == 12 * 64 * 64 * 4; });
  };
  const trace::Trace eager = generate("gpt2", R"({"batch": 1, "length": 64})", 1);
  const trace::Trace flash = generate("gpt2", R"({"batch": 1, "length": 64, "attention": "flash"})", 1);
  // 64 x 768 activations have as many bytes as the scores, so compare the two.
  EXPECT_EQ(kernels_named(eager, "softmax_fwd"), 12);
  EXPECT_EQ(kernels_named(flash, "softmax_fwd"), 0);
  EXPECT_EQ(kernels_named(flash, "flash_attention_bwd"), 12);
  EXPECT_GE(scores(eager) - scores(flash), 12 * 10);
}

// 2048 samples name 2048 rows of each of 26 tables; reading and adding to rows of 16 floats moves 2 * 64 B for each,
// or twice the table if that is smaller.
TEST(SequenceModels, DlrmUpdatesOnlyTheRowsOfTheBatch) {
  const trace::Trace t = generate("dlrm", "{}", 2);
  EXPECT_EQ(kernels_named(t, "sgd_sparse_add_"), 2 * 26);
  for (const trace::Kernel& kernel : records_of<trace::Kernel>(t)) {
    if (t.strings[static_cast<std::size_t>(kernel.name)] != "sgd_sparse_add_") continue;
    const trace::Access& table = t.accesses[kernel.accesses.first + 2];
    EXPECT_EQ(table.mode, trace::Mode::ReadWrite);
    EXPECT_EQ(table.pattern, trace::Pattern::Random);
    EXPECT_EQ(t.options[static_cast<std::size_t>(table.options)].count, 2048);
  }
}

}  // namespace
}  // namespace uvmsim
