#include <algorithm>
#include <gtest/gtest.h>
#include <string>

#include "support/generate.h"

namespace uvmsim {
namespace {

// What one iteration does, and the most bytes that live at once in the whole trace.
struct Totals {
  std::int64_t kernels = 0, allocs = 0, frees = 0, kernel_ns = 0, bytes_touched = 0, peak_live = 0;
  friend bool operator==(const Totals&, const Totals&) = default;
  friend std::ostream& operator<<(std::ostream& out, const Totals& t) {
    return out << t.kernels << " kernels, " << t.allocs << " allocs, " << t.frees << " frees, " << t.kernel_ns
               << " ns, " << t.bytes_touched << " B touched, " << t.peak_live << " B live";
  }
};

std::int64_t touched(const trace::Trace& t, const trace::Access& access, std::int64_t tensor_bytes) {
  std::int64_t bytes = (access.length < 0 ? tensor_bytes : access.length) * access.passes;
  if (access.pattern == trace::Pattern::Strided) {
    const trace::PatternOptions& o = t.options.at(static_cast<std::size_t>(access.options));
    bytes = std::min(bytes, o.width * (bytes / o.stride));
  }
  return access.mode == trace::Mode::ReadWrite ? 2 * bytes : bytes;
}

Totals last_iteration(const trace::Trace& t) {
  Totals totals;
  std::map<trace::TensorId, std::int64_t> live;
  std::int64_t live_bytes = 0, peak = 0;
  for (const trace::Record& record : t.records) {
    if (std::holds_alternative<trace::Iteration>(record)) totals = {};
    if (const auto* a = std::get_if<trace::Alloc>(&record)) {
      ++totals.allocs;
      live[a->tensor] = a->bytes;
      live_bytes += a->bytes;
      peak = std::max(peak, live_bytes);
    }
    if (const auto* f = std::get_if<trace::Free>(&record)) {
      ++totals.frees;
      live_bytes -= live.at(f->tensor);
      live.erase(f->tensor);
    }
    if (const auto* k = std::get_if<trace::Kernel>(&record)) {
      ++totals.kernels;
      totals.kernel_ns += k->duration_ns;
      for (std::uint32_t i = 0; i < k->accesses.count; ++i) {
        const trace::Access& access = t.accesses[k->accesses.first + i];
        totals.bytes_touched += touched(t, access, live.at(access.tensor));
      }
    }
  }
  totals.peak_live = peak;
  return totals;
}

std::string parameters(const std::string& dtype, int batch) {
  return R"({"dtype": ")" + dtype + R"(", "batch": )" + std::to_string(batch) + "}";
}

struct Case {
  const char* dtype;
  int batch;
  Totals expected;
};

// The steady iteration of an independent re-enactment of the same eager program in Python (reference counts by
// CPython). Bytes touched are those of that program plus the sectors of the loss gradient once more: nll_loss's
// backward updates them here and writes them there (32 B, or a row if that is less, per sample).
TEST(ResNet1001, SteadyIterationEqualsTheReference) {
  const Case cases[] = {
      {"fp32", 48, {25716, 10355, 10355, 815'271'595, 338'796'895'672 + 48 * 32, 29'508'586'940}},
      {"fp32", 98, {25716, 10355, 10355, 1'617'514'929, 690'933'576'472 + 98 * 32, 60'116'358'540}},
      {"fp16", 98, {25716, 10355, 10355, 791'293'425, 345'473'206'094 + 98 * 20, 30'059'671'430}},
      {"fp16", 202, {25716, 10355, 10355, 1'583'147'953, 711'695'355'790 + 202 * 20, 61'891'753'894}},
  };
  for (const Case& c : cases)
    EXPECT_EQ(last_iteration(generate("resnet1001", parameters(c.dtype, c.batch), 3)), c.expected)
        << c.dtype << " batch " << c.batch;
}

// The two variants of the eager program at batch 4, from the same reference. PyTorch 2.x drops gradients
// instead of zeroing them, and sums in place; Adam keeps two moments and needs seven kernels per parameter.
TEST(ResNet1001, VariantsEqualTheReference) {
  EXPECT_EQ(last_iteration(generate("resnet1001", R"({"batch": 4, "torch": "2.x"})", 3)),
            (Totals{19706, 10022, 10022, 95'484'817, 28'751'373'272 + 4 * 32, 2'532'447'388}));
  EXPECT_EQ(last_iteration(generate("resnet1001", R"({"batch": 4, "dtype": "fp16", "optimizer": "adam"})", 3)),
            (Totals{34731, 13360, 13360, 101'771'129, 14'896'399'266 + 4 * 20, 1'350'033'930}));
}

// Convolutions have no bias; each normalisation has a scale and a shift, and two running statistics that are no
// parameters. 10,327,706 parameters in all.
TEST(ResNet1001, HasTenMillionParameters) {
  const trace::Trace t = generate("resnet1001", R"({"batch": 1})", 1);
  std::int64_t bytes = 0;
  for (const trace::Record& record : t.records) {
    if (std::holds_alternative<trace::Iteration>(record)) break;
    if (const auto* a = std::get_if<trace::Alloc>(&record)) bytes += a->bytes;
  }
  EXPECT_EQ(bytes, 4 * 10'327'706);
}

// Reading and overwriting the same range is one operand; a fill only writes.
TEST(ResNet1001, InPlaceReluUpdatesOneOperand) {
  const trace::Trace t = generate("resnet1001", R"({"batch": 1})", 1);
  int relus = 0;
  for (const trace::Kernel& kernel : records_of<trace::Kernel>(t)) {
    if (t.strings[static_cast<std::size_t>(kernel.name)] != "relu_") continue;
    ++relus;
    ASSERT_EQ(kernel.accesses.count, 1u);
    EXPECT_EQ(t.accesses[kernel.accesses.first].mode, trace::Mode::ReadWrite);
  }
  EXPECT_EQ(relus, 3 * 333 + 1);
}

TEST(ResNet1001, EveryIterationUploadsItsBatch) {
  const auto copies = records_of<trace::Copy>(generate("resnet1001", R"({"batch": 2})", 2));
  ASSERT_EQ(copies.size(), 4u);
  EXPECT_EQ(copies[0].bytes, 2 * 3 * 64 * 64 * 4);
  EXPECT_EQ(copies[1].bytes, 2 * 8);
  EXPECT_EQ(copies[0].direction, trace::CopyDirection::HostToDevice);
}

}  // namespace
}  // namespace uvmsim
