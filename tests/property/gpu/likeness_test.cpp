// Programs of equal likeness touch the same pages of their operands, wherever these are, and no others.
#include <gtest/gtest.h>

#include "support/random_kernels.h"

namespace uvmsim {
namespace {

using namespace testing_support;

struct Place {
  std::size_t range = 0;
  std::uint32_t page = 0;
  std::uint16_t weight = 0;
  bool write = false;
  friend bool operator==(const Place&, const Place&) = default;
};

// Of some CTAs, in the order of their touches.
std::vector<Place> touched(const KernelProgram& program) {
  std::vector<Place> places;
  std::vector<Touch> touches;
  for (std::int64_t cta = 0; cta < program.ctas(); cta += 1 + program.ctas() / 20) {
    for (int agent = 0; agent < program.agents(); ++agent) {
      const std::int64_t steps = program.steps(cta, agent);
      for (std::int64_t s = 0; s < steps; s += 1 + steps / 20) {
        program.step(cta, agent, s, touches);
        for (const Touch& t : touches) {
          for (std::uint32_t i = 0; i < t.pages; ++i) {
            std::size_t range = 0;
            while (range < program.ranges().size() && !program.ranges()[range].contains(t.at(i))) ++range;
            if (range == program.ranges().size()) {
              ADD_FAILURE() << "touches page " << t.at(i).value << ", which is of no operand";
              return {};
            }
            places.push_back({range, t.at(i) - program.ranges()[range].first, t.weight, t.write});
          }
        }
      }
    }
  }
  return places;
}

TEST(Likeness, DoesNotDependOnWhereTheOperandsAre) {
  int alike = 0;
  for (std::uint64_t seed = 0; seed < 1000; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    Random random{std::mt19937_64(seed)};
    RandomKernel kernel = random_kernel(random);
    const auto program = make_kernel_program(kernel.shape, kernel.operands, kernel.options);
    const std::vector<Place> places = touched(*program);
    for (Operand& o : kernel.operands) o.address += static_cast<VirtualAddress>(random(0, 20'000) * kPageBytes);
    const auto moved = make_kernel_program(kernel.shape, kernel.operands, kernel.options);
    if (moved->likeness() != program->likeness()) continue;
    ++alike;
    ASSERT_EQ(touched(*moved), places);
  }
  EXPECT_GE(alike, 500);  // the others had operands that shared pages
}

TEST(Likeness, DependsOnEverythingElse) {
  const Operand in{kManagedBase, 1 << 20, trace::Mode::Read, trace::Pattern::Sequential, 1, -1};
  const Operand out{kManagedBase + 4 * kBlockBytes, 1 << 20, trace::Mode::Write, trace::Pattern::Sequential, 1, -1};
  const std::vector<trace::PatternOptions> options = {{.stride = 8}, {.stride = 16}};
  const auto likeness = [&](LaunchShape shape, Operand a, Operand b) {
    const std::vector<Operand> operands = {a, b};
    return make_kernel_program(shape, operands, options)->likeness();
  };
  const auto with = [](Operand o, auto change) {
    change(o);
    return o;
  };
  const std::vector<std::uint64_t> all = {
      likeness({}, in, out),
      likeness({64, 128}, in, out),
      likeness({64, 256}, in, out),
      likeness({}, out, in),
      likeness({}, with(in, [](Operand& o) { o.address += 512; }), out),
      likeness({}, with(in, [](Operand& o) { o.bytes += 4; }), out),
      likeness({}, with(in, [](Operand& o) { o.passes = 2; }), out),
      likeness({}, with(in, [](Operand& o) { o.mode = trace::Mode::ReadWrite; }), out),
      likeness({}, with(in, [](Operand& o) { o.pattern = trace::Pattern::Broadcast; }), out),
      likeness({}, with(in, [](Operand& o) { o.pattern = trace::Pattern::Strided, o.options = 0; }), out),
      likeness({}, with(in, [](Operand& o) { o.pattern = trace::Pattern::Strided, o.options = 1; }), out),
      likeness({}, in, with(out, [&](Operand& o) { o.address = in.address; })),
      likeness({}, in, with(out, [&](Operand& o) { o.address = in.end() - kPageBytes; })),
      likeness({}, in, with(out, [&](Operand& o) { o.address = in.end(); }))};
  for (std::size_t i = 0; i < all.size(); ++i)
    for (std::size_t j = 0; j < i; ++j) EXPECT_NE(all[i], all[j]) << i << " and " << j;
}

}  // namespace
}  // namespace uvmsim
