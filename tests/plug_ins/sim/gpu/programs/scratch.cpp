#include "gpu/programs/programs.h"
#include "trace/pattern.h"

namespace uvmsim {
namespace {

constexpr trace::Pattern kScratch{13};

// One warp touches the pages of the first operand backwards, one after the other.
class Backwards final : public KernelProgram {
 public:
  explicit Backwards(const Operand& operand) : operand_(operand) {
    max_steps_ = page_of(operand.end() - 1) - page_of(operand.address) + std::int64_t{1};
  }
  std::int64_t steps(std::int64_t, int) const override { return max_steps_; }
  void step(std::int64_t, int, std::int64_t step, std::vector<Touch>& touches) const override {
    const auto back = static_cast<std::uint32_t>(step);
    touches = {{page_of(operand_.end() - 1) - back, 1, operand_.mode != trace::Mode::Read}};
  }
  bool all_granted(const PageTable& pages) const override { return operand_granted(operand_, pages); }

 private:
  const Operand operand_;
};

std::unique_ptr<KernelProgram> make(LaunchShape, Operands operands, Options) {
  return std::make_unique<Backwards>(operands.front());
}

const bool kRegistered = trace::add_pattern({.name = "scratch", .summary = "an example", .source = "a test"},
                                            {.pattern = kScratch, .covers = true}) &&
                         add_program_family({.precedence = 10, .takes = has_pattern<kScratch>, .make = make});

}  // namespace
}  // namespace uvmsim
