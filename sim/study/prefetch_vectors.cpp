#include "study/prefetch_vectors.h"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <set>
#include <sstream>

#include "base/user_error.h"
#include "machine/machine.h"
#include "uvm/prefetch/density.h"

namespace uvmsim {
namespace {

using Json = nlohmann::json;

// Block pages <-> frame pages: the prefetcher works in pages of the frame.
struct Block {
  std::uint32_t start = 0, pages = 0;

  explicit Block(const Json& json)
      : start(json.at("start_page").get<std::uint32_t>()), pages(json.at("num_pages").get<std::uint32_t>()) {
    if (pages == 0 || start >= kPagesPerBlock || pages > kPagesPerBlock - start)
      throw UserError("prefetch vectors", "start_page and num_pages are not inside a block of 512 pages");
  }
  PageRegion region(const Json& range) const {
    const auto first = range.at(0).get<std::uint32_t>(), outer = range.at(1).get<std::uint32_t>();
    if (first >= outer || outer > pages)
      throw UserError("prefetch vectors", "the range " + range.dump() + " is empty or outside the block");
    return {start + first, start + outer};
  }
  PageMask mask(const Json& ranges) const {
    PageMask out;
    for (const Json& range : ranges) out.set(region(range));
    return out;
  }
  Json ranges(const PageMask& mask) const {
    Json out = Json::array();
    for_each_run(mask, [&](PageRegion run) { out.push_back({run.first - start, run.outer - start}); });
    return out;
  }
  PageRegion all() const { return {start, start + pages}; }
};

std::string version_of(const Json& value) { return value.is_string() ? value.get<std::string>() : value.dump(); }

bool truth(const Json& value) { return value.is_boolean() ? value.get<bool>() : !value.is_null() && value != "none"; }

DensityRules rules_for(int threshold, const std::string& version) {
  const DriverTraits traits = driver_traits(version);
  return {threshold, traits.head_clamp_quirk, traits.prefetch_away_from_preferred};
}

// One case or sweep: collects what differs.
class Check {
 public:
  Check(VectorReport& report, const Json& vector) : report_(report), name_(vector.value("name", "unnamed")) {}
  ~Check() { ++(failed_ ? report_.failed : report_.passed); }
  void equal(const std::string& what, const Json& expected, const Json& computed) {
    if (expected != computed) fail(what + ": expected " + expected.dump() + ", computed " + computed.dump());
  }
  void fail(const std::string& message) {
    failed_ = true;
    report_.mismatches.push_back(name_ + ": " + message);
  }

 private:
  VectorReport& report_;
  std::string name_;
  bool failed_ = false;
};

// Sets what `options` says. Unknown options fail the case: a vector that is not understood has not passed.
void apply_options(const Json& options, const Block& block, PrefetchView& view, std::string& version, Check& check) {
  for (const auto& [key, value] : options.items()) {
    if (key == "thrashing")
      view.thrashing = block.mask(value);
    else if (key == "dst_is_cpu")
      view.to_cpu = value.get<bool>();
    else if (key == "cpu_mapped")
      view.cpu_mapped = block.mask(value);
    else if (key == "preferred")
      view.preferred_location_set = truth(value);
    else if (key == "new_residency_is_preferred")
      view.to_preferred_location = value.get<bool>();
    else if (key == "block_resident_anywhere")
      view.resident_anywhere = value.get<bool>();
    else if (key == "driver")
      version = version_of(value);
    else if (key == "max_region")
      view.region = block.region(value);
    else if (key == "hmm")
      view.hmm = value.get<bool>();
    else if (key == "ats")
      view.ats = value.get<bool>();
    else
      check.fail("unknown option \"" + key + "\"");
  }
  view.to_preferred_location = view.to_preferred_location && view.preferred_location_set;
}

void evaluate_case(const Json& vector, VectorReport& report) {
  Check check(report, vector);
  const Block block(vector);
  PrefetchView view;
  view.block = view.region = block.all();
  view.resident = block.mask(vector.at("resident"));
  view.faulted = block.mask(vector.at("faulted"));
  std::string version = "595";
  if (vector.contains("options")) apply_options(vector.at("options"), block, view, version, check);

  const DensityRules rules = rules_for(vector.at("threshold").get<int>(), version);
  const DensityGeometry geometry = density_geometry(view.region, view.ats, !rules.head_clamp_quirk);
  const PageMask prefetch = density_hint(view, rules);
  const PageMask migrate = (view.faulted | prefetch) - view.resident;
  const Json computed{{"tree_offset", geometry.offset},      {"leaf_count", geometry.leaf_count},
                      {"level_count", geometry.level_count}, {"prefetch", block.ranges(prefetch)},
                      {"migrate", block.ranges(migrate)},    {"migrated_pages", migrate.count()}};
  for (const auto& [key, expected] : vector.at("expect").items()) {
    if (computed.contains(key))
      check.equal(key, expected, computed.at(key));
    else
      check.fail("unknown expectation \"" + key + "\"");
  }
}

// The pages of a sweep, in the order in which they fault.
std::vector<std::uint32_t> sweep_order(const Json& sweep, const Block& block) {
  if (sweep.contains("pages")) return sweep.at("pages").get<std::vector<std::uint32_t>>();
  std::vector<std::uint32_t> order(block.pages);
  for (std::uint32_t page = 0; page < block.pages; ++page) order[page] = page;
  const std::string direction = sweep.at("order").get<std::string>();
  if (direction == "desc")
    std::ranges::reverse(order);
  else if (direction != "asc")
    throw UserError("prefetch vectors", "the order of a sweep is \"asc\" or \"desc\", not \"" + direction + "\"");
  return order;
}

void evaluate_sweep(const Json& sweep, VectorReport& report) {
  Check check(report, sweep);
  const Block block(sweep);
  const std::vector<std::uint32_t> order = sweep_order(sweep, block);
  const auto batch = static_cast<int>(sweep.value("batch", 1));
  std::string version = "595";
  PrefetchView view;
  view.block = view.region = block.all();
  if (sweep.contains("options")) apply_options(sweep.at("options"), block, view, version, check);
  const DensityRules rules = rules_for(sweep.at("threshold").get<int>(), version);

  Json sizes = Json::array(), steps = Json::array();
  for (auto next = order.begin();;) {
    view.faulted.clear();
    for (; next != order.end() && view.faulted.count() < batch; ++next)
      if (*next < block.pages && !view.resident.test(block.start + *next)) view.faulted.set(block.start + *next);
    if (view.faulted.none()) break;
    view.resident_anywhere = view.resident.any();
    const PageMask prefetch = density_hint(view, rules);
    const PageMask migrate = (view.faulted | prefetch) - view.resident;
    sizes.push_back(migrate.count());
    steps.push_back({{"faulted", block.ranges(view.faulted)},
                     {"prefetch", block.ranges(prefetch)},
                     {"migrate", block.ranges(migrate)},
                     {"migrated_pages", migrate.count()}});
    view.resident |= migrate;
  }
  if (sweep.contains("faults")) check.equal("faults", sweep.at("faults"), Json(sizes.size()));
  if (sweep.contains("sizes_pages")) check.equal("sizes_pages", sweep.at("sizes_pages"), sizes);
  if (!sweep.contains("steps")) return;
  const Json& expected = sweep.at("steps");
  if (expected.size() < steps.size())
    steps.erase(steps.begin() + static_cast<std::ptrdiff_t>(expected.size()), steps.end());
  check.equal("steps", expected, steps);
}

}  // namespace

VectorReport evaluate_prefetch_vectors(std::istream& in) {
  VectorReport report;
  try {
    const Json vectors = Json::parse(in);
    for (const Json& vector : vectors.value("cases", Json::array())) evaluate_case(vector, report);
    for (const Json& sweep : vectors.value("sweeps", Json::array())) evaluate_sweep(sweep, report);
  } catch (const Json::exception& error) {
    throw UserError("prefetch vectors", error.what());
  }
  return report;
}

}  // namespace uvmsim
