// What every plug-in has: a name with its story, and parameters that are described.
//
// A plug-in is one file. It implements an interface and registers itself (base/registry.h):
//
//   const bool kRegistered = add_plug_in<EvictionPolicy, MostRecent>({.name = "most_recent", .summary = "...", ...});
#pragma once

#include <memory>
#include <string>
#include <type_traits>

#include "base/describe.h"

namespace uvmsim {

// What a plug-in says of itself when it registers.
struct PlugInText {
  std::string name;
  std::string summary;           // one line, shown by `uvmsim list`
  std::string source;            // driver file and function, paper section, or data set
  std::string on_hardware = {};  // what it takes to have it on a real machine: nothing, a module parameter, another
                                 // kernel module, or what no machine has; "" where the question makes no sense
};

// Parameters of a plug-in that has none.
struct NoOptions {
  static const Description& description() {
    static const Description d{.doc = "no parameters", .fields = {}};
    return d;
  }
};

// What a registry makes: holds parameters, and is either what it was registered as or the Factory of it.
class PlugIn {
 public:
  PlugIn() = default;
  PlugIn(const PlugIn&) = delete;
  PlugIn& operator=(const PlugIn&) = delete;
  virtual ~PlugIn() = default;
  // The parameters, to be read and written by whoever reads a configuration.
  virtual DescribedObject parameters() {
    static NoOptions none;
    return {&NoOptions::description(), &none};
  }
};

// `Base` with the parameters `Options`, a struct with its defaults and a static description().
template <class Base, class Options>
class With : public Base {
 public:
  DescribedObject parameters() override { return {&Options::description(), &options_}; }

 protected:
  Options options_;
};

// Makes policies of one plug-in, with its parameters: for interfaces of which a run needs several, one for each GPU,
// process or device. Such an interface says so by its types Factory and FactoryOf<P>.
template <class Made, class... Arguments>
class Factory : public PlugIn {
 public:
  virtual std::unique_ptr<Made> make(Arguments... arguments) const = 0;
};

// The parameters of P: its type Options, or none.
template <class P>
struct OptionsOf {
  using type = NoOptions;
};
template <class P>
requires requires { typename P::Options; }
struct OptionsOf<P> {
  using type = typename P::Options;
};

// The Factory of P, which is constructed from the arguments, the parameters, both (parameters last) or neither.
template <class P, class Made, class... Arguments>
class FactoryOf final : public With<Factory<Made, Arguments...>, typename OptionsOf<P>::type> {
 public:
  std::unique_ptr<Made> make(Arguments... arguments) const override {
    using Parameters = const typename OptionsOf<P>::type&;
    if constexpr (std::is_constructible_v<P, Arguments..., Parameters>)
      return std::make_unique<P>(arguments..., this->options_);
    else if constexpr (std::is_constructible_v<P, Parameters>)
      return std::make_unique<P>(this->options_);
    else if constexpr (std::is_constructible_v<P, Arguments...>)
      return std::make_unique<P>(arguments...);
    else
      return std::make_unique<P>();
  }
};

// The parameter `name` of a plug-in, which has one of that name and type.
template <class T>
T& parameter(PlugIn& plug_in, const std::string& name) {
  const DescribedObject parameters = plug_in.parameters();
  return *static_cast<T*>(parameters.description->find(name)->locate(parameters.object));
}

}  // namespace uvmsim
