#include "plan/coordinator.h"

namespace uvmsim {
namespace {

struct Scratch final : Coordinator {
  static constexpr bool kTakesTurns = false;
  Scratch(const NoOptions&, const std::vector<SharedLink>&) {}
};

const bool kRegistered =
    add_plug_in<Coordinator, Scratch>({.name = "scratch", .summary = "an example", .source = "a test"});

}  // namespace
}  // namespace uvmsim
