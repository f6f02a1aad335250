#include "gpu/kernel_program.h"

#include <algorithm>

#include "gpu/programs/programs.h"

namespace uvmsim {

bool KernelProgram::stalls(std::int64_t cta, const PageTable& pages) const {
  std::vector<Touch> touches;
  for (int agent = 0; agent < agents_; ++agent) {
    for (std::int64_t s = 0; s < steps(cta, agent); ++s) {
      step(cta, agent, s, touches);
      for (const Touch& t : touches)
        if (!pages.granted(t.page, t.write)) return true;
    }
  }
  return false;
}

StallRun KernelProgram::next_stall(std::int64_t from, const PageTable& pages) const {
  if (!looks_once() || from >= ctas_) return {from, ctas_};
  for (std::int64_t cta = from; cta < ctas_; ++cta)
    if (stalls(cta, pages)) return {cta, cta + 1};
  return {ctas_, ctas_};
}

bool operand_granted(const Operand& o, const PageTable& pages) {
  if (!o.managed() || o.bytes <= 0) return true;
  const PageNumber outer = page_of(o.end() - 1) + 1;
  return pages.next_fault(page_of(o.address), outer, o.mode != trace::Mode::Read) == outer;
}

std::unique_ptr<KernelProgram> make_kernel_program(LaunchShape shape, Operands operands, Options options) {
  using trace::Pattern;
  const auto has = [&](auto... patterns) {
    return std::ranges::any_of(operands,
                               [&](const Operand& o) { return o.managed() && ((o.pattern == patterns) || ...); });
  };
  if (std::ranges::none_of(operands, [](const Operand& o) { return o.managed() && o.bytes > 0; })) return nullptr;
  if (has(Pattern::Stencil, Pattern::Grid2d)) return make_grid2d_program(shape, operands, options);
  if (has(Pattern::Order, Pattern::Chase)) return make_list_program(shape, operands, options);
  if (has(Pattern::Random)) return make_random_program(shape, operands, options);
  if (has(Pattern::Strided)) return make_strided_program(shape, operands, options);
  if (std::ranges::any_of(operands, [&](const Operand& o) { return is_column_stripes(o, options); }))
    return make_columns_program(shape, operands, options);
  if (has(Pattern::Tile)) return make_gemm_program(shape, operands, options);
  if (has(Pattern::Rows)) return make_rows_program(shape, operands, options);
  return make_sweep_program(shape, operands, options);
}

}  // namespace uvmsim
