// One kind of driver policy (prefetch, eviction) with its parameters: what a DriverConfig holds of it.
#pragma once

#include <memory>
#include <string>
#include <tuple>
#include <type_traits>
#include <utility>

#include "base/describe.h"

namespace uvmsim {

class PolicyKind {
 public:
  explicit PolicyKind(std::string on_hardware) : on_hardware_(std::move(on_hardware)) {}
  virtual ~PolicyKind() = default;
  // The parameters, described; `parameters()` is the object the description describes. They are the keys of the
  // config's driver.prefetch_options or driver.eviction_options.
  virtual const Description& description() const = 0;
  virtual void* parameters() = 0;
  // What it takes to have it on a real machine: nothing, a module parameter, another kernel module, or what no machine
  // has.
  const std::string& on_hardware() const { return on_hardware_; }

 private:
  std::string on_hardware_;
};

// What a policy says of itself when it registers.
struct PolicyText {
  std::string name;
  std::string summary;      // one line, shown by `uvmsim list`
  std::string source;       // driver file and function, or paper
  std::string on_hardware;  // see PolicyKind
};

// Parameters of a policy that has none.
struct NoPolicyOptions {
  static const Description& description() {
    static const Description d{.doc = "no parameters", .fields = {}};
    return d;
  }
};

// A PolicyKind `Base` whose policies are made by `new Policy(arguments...)`, with the parameters as the last argument
// where Policy takes them.
template <class Base, class Policy, class Options>
class PolicyKindOf final : public Base {
 public:
  using Base::Base;
  const Description& description() const override { return Options::description(); }
  void* parameters() override { return &options_; }

 protected:
  typename Base::Made make_from(const typename Base::Arguments& arguments) const override {
    return std::apply(
        [this](const auto&... a) -> typename Base::Made {
          if constexpr (std::is_constructible_v<Policy, decltype(a)..., const Options&>)
            return std::make_unique<Policy>(a..., options_);
          else if constexpr (std::is_constructible_v<Policy, const Options&>)
            return std::make_unique<Policy>(options_);
          else if constexpr (std::is_constructible_v<Policy, decltype(a)...>)
            return std::make_unique<Policy>(a...);
          else
            return std::make_unique<Policy>();
        },
        arguments);
  }

 private:
  Options options_;
};

}  // namespace uvmsim
