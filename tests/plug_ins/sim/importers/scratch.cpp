#include "importers/importer.h"

namespace uvmsim {
namespace {

class Scratch final : public Importer {
 public:
  std::string role(std::string_view head) const override { return head.starts_with("scratch") ? "all" : ""; }
  void import(const std::vector<ImportPart>&, ImportBuilder& into, trace::ErrorList&) const override {
    into.host_step(1000);
  }
};

const bool kRegistered =
    add_plug_in<Importer, Scratch>({.name = "scratch", .summary = "an example", .source = "a test"});

}  // namespace
}  // namespace uvmsim
