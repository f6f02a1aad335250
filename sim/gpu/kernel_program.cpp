#include "gpu/kernel_program.h"

#include <algorithm>
#include <functional>
#include <limits>
#include <utility>

#include "base/scramble.h"
#include "gpu/programs/programs.h"

namespace uvmsim {

bool KernelProgram::stalls(std::int64_t cta, const PageTable& pages) const {
  std::vector<Touch> touches;
  for (int agent = 0; agent < agents_; ++agent) {
    for (std::int64_t s = 0; s < steps(cta, agent); ++s) {
      step(cta, agent, s, touches);
      for (const Touch& t : touches)
        if (pages.granted_run(t.page, t.stride, t.pages, t.write) != t.pages) return true;
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

MissRun KernelProgram::miss_run(std::int64_t from, std::int64_t, std::int64_t step, const PageTable& pages) const {
  MissRun run{from + 1, 0};
  std::vector<Touch> touches;
  this->step(from, 0, step, touches);
  for (std::size_t i = 0; i < touches.size(); ++i)
    if (!pages.granted(touches[i].page, touches[i].write)) run.missing |= std::uint64_t{1} << i;
  return run;
}

void KernelProgram::missed(std::int64_t cta, std::int64_t step, std::uint64_t missing,
                           std::vector<Touch>& touches) const {
  this->step(cta, 0, step, touches);
  std::size_t touch = 0;
  std::erase_if(touches, [&](const Touch&) { return (missing >> touch++ & 1) == 0; });
}

RemoteAccess KernelProgram::remote_access(const PageTable& pages, int) const {
  RemoteAccess access;
  std::vector<Touch> touches;
  for (std::int64_t cta = 0; cta < ctas_; ++cta) {
    for (int agent = 0; agent < agents_; ++agent) {
      for (std::int64_t s = 0; s < steps(cta, agent); ++s) {
        step(cta, agent, s, touches);
        for (const Touch& t : touches) {
          std::int64_t accesses = 0;
          for (std::uint32_t i = 0; i < t.pages; ++i) accesses += pages.remote_pages(t.at(i), t.at(i) + 1) * t.weight;
          (t.write ? access.written : access.read) += {accesses, accesses * kLineBytes};
          if (!t.write) access.loads += accesses;
        }
      }
    }
  }
  return access;
}

LoadOrder::LoadOrder(Operands operands, Options options) : first_(operands.data()) {
  int load = 0;
  bool any_read = false;
  for (const Operand& o : operands) {
    const bool reads = o.managed() && o.mode != trace::Mode::Write;
    if (reads && any_read && o.options >= 0 && options[static_cast<std::size_t>(o.options)].dependent) ++load;
    any_read |= reads;
    loads_.push_back(load);
  }
}

bool operand_granted(const Operand& o, const PageTable& pages) {
  if (!o.managed() || o.bytes <= 0) return true;
  const auto [first, outer] = o.pages();
  return pages.next_fault(first, outer, o.mode != trace::Mode::Read) == outer;
}

namespace {

// The most demanding first.
std::vector<ProgramFamily>& program_families() {
  static std::vector<ProgramFamily> families;
  return families;
}

}  // namespace

bool add_program_family(const ProgramFamily& family) {
  auto& families = program_families();
  const auto before = std::ranges::upper_bound(families, family.precedence, std::greater{}, &ProgramFamily::precedence);
  families.insert(before, family);
  return true;
}

namespace {

constexpr std::int64_t kNotNear = std::numeric_limits<std::int64_t>::min();

void add_to(SequenceHash& hash, const trace::PatternOptions& options) {
  const auto& [rows, columns, leading_dimension, element_bytes, width, stride, count, order, chunk, dependent, unroll,
               block_x, block_y, cta_rows, cta_columns] = options;
  for (const std::int64_t value : {rows, columns, leading_dimension, element_bytes, width, stride, count, chunk})
    hash.add(value);
  hash.add(std::int64_t{dependent}).add(std::int64_t{unroll}).add(std::int64_t{block_x}).add(std::int64_t{block_y});
  hash.add(std::int64_t{cta_rows}).add(std::int64_t{cta_columns});
  hash.add(static_cast<std::int64_t>(order.size()));
  for (const std::int64_t offset : order) hash.add(offset);
}

// Everything that a program is made of but where in the address space its operands are: of that only where they begin
// in their first page, and how those lie that share pages or are neighbours.
void set_likeness(KernelProgram& program, LaunchShape shape, Operands operands, Options options) {
  SequenceHash hash;
  hash.add(shape.grid).add(std::int64_t{shape.block}).add(std::int64_t{shape.registers});
  std::vector<PageRange> ranges;
  for (const Operand& o : operands) {
    const bool managed = o.managed() && o.bytes > 0;
    hash.add(std::int64_t{managed}).add(o.address % kPageBytes).add(o.bytes);
    hash.add(static_cast<std::int64_t>(o.mode)).add(static_cast<std::int64_t>(o.pattern));
    hash.add(std::int64_t{o.passes}).add(std::int64_t{o.options >= 0});
    if (o.options >= 0) add_to(hash, options[static_cast<std::size_t>(o.options)]);
    if (!managed) continue;
    const PageRange range = o.pages();
    for (const PageRange& before : ranges) {
      const bool near = range.first <= before.outer && before.first <= range.outer;
      hash.add(near ? std::int64_t{range.first.value} - before.first.value : kNotNear);
    }
    ranges.push_back(range);
  }
  program.set_likeness(std::move(ranges), hash.value());
}

Bytes traffic_of(Operands operands) {
  Bytes traffic{};
  for (const Operand& o : operands) traffic += Bytes{o.mode == trace::Mode::ReadWrite ? 2 * o.bytes : o.bytes};
  return traffic;
}

std::unique_ptr<KernelProgram> make_program(LaunchShape shape, Operands operands, Options options) {
  for (const ProgramFamily& family : program_families())
    if (std::ranges::any_of(operands, [&](const Operand& o) { return o.managed() && family.takes(o, options); }))
      return family.make(shape, operands, options);
  return make_sweep_program(shape, operands, options);
}

}  // namespace

std::unique_ptr<KernelProgram> make_kernel_program(LaunchShape shape, Operands operands, Options options) {
  if (std::ranges::none_of(operands, [](const Operand& o) { return o.managed() && o.bytes > 0; })) return nullptr;
  std::unique_ptr<KernelProgram> program = make_program(shape, operands, options);
  set_likeness(*program, shape, operands, options);
  program->set_traffic(traffic_of(operands));
  if (program->threads() == shape.block) program->set_registers(shape.registers);
  return program;
}

}  // namespace uvmsim
