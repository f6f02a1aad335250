#include <cmath>

#include "plan/codec.h"

namespace uvmsim {
namespace {

// Before each run of zeros, and before each run of other elements, a byte with its length, at most 128; zeros are left
// out. Where elements are zero independently of each other (assumed: real maps have longer runs, and take less), one of
// n with a share s of zeros ends a run of zeros with probability s (1 - s), and so with the other runs. A run of a mean
// length of 1 / (1 - s) needs 1 / (1 - s^128) bytes on average, because the lengths are geometric.
class RunLength final : public CopyEngineCodec {
 public:
  Bytes encoded_bytes(const CodecTensor& tensor) const override {
    const double s = tensor.sparsity;
    const double runs = static_cast<double>(elements_of(tensor)) * (lengths(s) + lengths(1 - s));
    return Bytes{nonzeros_of(tensor) * tensor.element_bytes + static_cast<std::int64_t>(std::ceil(runs))};
  }

 private:
  // Bytes of length per element, of the runs that a share `s` of the elements makes.
  static double lengths(double s) {
    constexpr double kLongest = 128;
    return s >= 1 ? 1 / kLongest : s * (1 - s) / (1 - std::pow(s, kLongest));
  }
};

const bool kRegistered = add_plug_in<Codec, RunLength>(
    {.name = "run_length",
     .summary = "runs of zeros as their lengths, by the copy engine at the rate of the link",
     .source = "Rhu et al., HPCA 2018: cDMA's second algorithm; a byte per run and zeros that are independent are "
               "assumed",
     .on_hardware = "not possible: copy engines do not compress"});

}  // namespace
}  // namespace uvmsim
