#include "plan/plan_version_1.h"

#include <limits>

#include "base/json_reader.h"
#include "plan/plan_description.h"
#include "plan/plan_names.h"

namespace uvmsim {
namespace {

constexpr Range kOrdinal = {0, std::numeric_limits<std::int32_t>::max()};

// --- the values as version 1 has them

enum class Kind : std::uint8_t { Keep, Swap, Drop, Recompute, Encode };

struct Disposition {
  TensorInterval of;
  Kind kind = Kind::Keep;
  Transfer out{{Trigger::On::Access, 0}}, in{{Trigger::On::Access, 0}};
  Move::Release release = Move::Release::CopyDone;
  std::vector<std::int32_t> kernels{};
  std::string codec{};
  std::int64_t encoded_bytes = 0;
};

struct PlanOfVersion1 {
  Plan plan;
  std::vector<Disposition> dispositions{};
};

struct FileOfVersion1 {
  int version = 1;
  std::string workload{};
  std::vector<PlanOfVersion1> plans{};
};

const Description& describe_disposition() {
  using D = Disposition;
  static const Description d =
      Describe<D>("what happens to a tensor between two uses")
          .part(&D::of, describe_interval())
          .choice("kind", &D::kind, "what happens", {"keep", "swap", "drop", "recompute", "encode"})
          .section("out", &D::out, describe_transfer(), "out of the GPU")
          .section("in", &D::in, describe_transfer(), "into the GPU")
          .choice("release", &D::release, "when the device bytes become free", kReleaseNames)
          .integers("kernels", &D::kernels, "those that recompute the tensor", kOrdinal)
          .text("codec", &D::codec, "what encodes it")
          .integer("encoded_bytes", &D::encoded_bytes, "what it takes then", {0, {}}, "B")
          .build();
  return d;
}

const Description& describe_plan_of_version_1() {
  using P = PlanOfVersion1;
  Description without_actions = describe_plan();
  std::erase_if(without_actions.fields,
                [](const FieldInfo& f) { return f.name == "actions" || f.name == "first_iteration"; });
  static const Description d = Describe<P>("the plan of one GPU")
                                   .part(&P::plan, without_actions)
                                   .sections("dispositions", &P::dispositions, describe_disposition(), "of intervals")
                                   .build();
  return d;
}

const Description& describe_file() {
  using F = FileOfVersion1;
  static const Description d = Describe<F>("plans of a job")
                                   .integer("version", &F::version, "of this format", {1, 1})
                                   .text("workload", &F::workload, "the trace's name")
                                   .sections("plans", &F::plans, describe_plan_of_version_1(), "one per GPU and shape")
                                   .build();
  return d;
}

// The action that does what the disposition says; nothing for Keep.
void append(const Disposition& d, std::vector<Action>& actions) {
  switch (d.kind) {
    case Kind::Keep:
      return;
    case Kind::Swap:
      actions.push_back(Move{.of = d.of, .out = d.out, .in = d.in, .release = d.release, .codec = d.codec});
      return;
    case Kind::Drop:
      actions.push_back(Drop{d.of, d.out.at});
      return;
    case Kind::Recompute:
      actions.push_back(Recompute{.before = d.of.next_use, .kernels = d.kernels, .tensors = {d.of}});
      return;
    case Kind::Encode:
      actions.push_back(Encode{d.of, d.out.at, d.in.at, d.codec});
      return;
  }
}

}  // namespace

PlanFile read_version_1(const JsonValue& document, std::vector<InputError>& errors) {
  FileOfVersion1 file;
  ResolvedConfig resolved;
  const DescribedObject part{&describe_file(), &file};
  read_described(&document, "", {&part, 1}, errors, resolved);
  PlanFile plans{.workload = file.workload, .plans = {}};
  for (PlanOfVersion1& p : file.plans) {
    for (const Disposition& d : p.dispositions) append(d, p.plan.actions);
    plans.plans.push_back(std::move(p.plan));
  }
  return plans;
}

}  // namespace uvmsim
