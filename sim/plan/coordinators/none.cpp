#include "plan/coordinator.h"

namespace uvmsim {
namespace {

struct None final : Coordinator {
  struct Options {
    static const Description& description() {
      static const Description d{.doc = "no parameters", .fields = {}};
      return d;
    }
  };
  static constexpr bool kTakesTurns = false;
  None(const Options&, std::vector<SharedLink>) {}
};

const bool kRegistered =
    add_plug_in<Coordinator, None>({.name = "none",
                                    .summary = "copies start when they are ready and share links fairly",
                                    .source = "what CUDA does: no stream knows of another GPU's"});

}  // namespace
}  // namespace uvmsim
