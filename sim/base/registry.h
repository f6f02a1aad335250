// Plug-ins register themselves by name: adding a policy or a generator is adding one file. Adding a kind of plug-in is
// adding the header of its interface, which says what it is by a `static constexpr KindText kKind`.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/check.h"
#include "base/plug_in.h"
#include "base/user_error.h"

namespace uvmsim {

// What a kind of plug-in is: for `uvmsim list` and `explain`, the schema and messages.
struct KindText {
  std::string_view name;          // "eviction", as behind `uvmsim list`
  std::string_view noun;          // "eviction policy"
  std::string_view use;           // what takes its names: "driver.eviction_policy"
  std::string_view options = {};  // the section of a configuration that has its parameters; "": none has
  bool section_each = false;      // a plug-in's parameters are in a section of its name there
};

// One kind of plug-in, whatever its interface.
class PlugInKind {
 public:
  explicit PlugInKind(const KindText& text);
  PlugInKind(const PlugInKind&) = delete;
  PlugInKind& operator=(const PlugInKind&) = delete;
  virtual ~PlugInKind() = default;

  const KindText& text() const { return text_; }
  virtual std::vector<const PlugInText*> plug_ins() const = 0;  // by name
  virtual std::unique_ptr<PlugIn> make_plug_in(const std::string& name) const = 0;
  std::vector<std::string> names() const;
  bool has(const std::string& name) const;
  // The error that `name` is no plug-in of this kind, with the nearest that is; "": that it is missing.
  InputError unknown(const std::string& place, const std::string& name) const;

 private:
  KindText text_;
};

// The kinds that the program has plug-ins of, by name.
std::vector<const PlugInKind*> kinds();
const PlugInKind* find_kind(std::string_view name);

// The plug-ins that implement `Interface`.
template <class Interface>
class Registry final : public PlugInKind {
  template <class I>
  struct Makes {
    using type = I;
  };
  template <class I>
  requires requires { typename I::Factory; }
  struct Makes<I> {
    using type = typename I::Factory;
  };

 public:
  using Made = typename Makes<Interface>::type;
  struct Entry : PlugInText {
    std::function<std::unique_ptr<Made>()> make;
  };

  Registry() : PlugInKind(Interface::kKind) {}

  bool add(PlugInText text, std::function<std::unique_ptr<Made>()> make) {
    const std::string name = text.name;
    UVMSIM_CHECK(entries_.emplace(name, Entry{std::move(text), std::move(make)}).second, "two plug-ins share a name");
    return true;
  }
  const Entry* find(const std::string& name) const {
    const auto it = entries_.find(name);
    return it == entries_.end() ? nullptr : &it->second;
  }
  const std::map<std::string, Entry>& entries() const { return entries_; }

  std::vector<const PlugInText*> plug_ins() const override {
    std::vector<const PlugInText*> all;
    for (const auto& [name, entry] : entries_) all.push_back(&entry);
    return all;
  }
  std::unique_ptr<PlugIn> make_plug_in(const std::string& name) const override { return find(name)->make(); }

 private:
  std::map<std::string, Entry> entries_;
};

template <class Interface>
Registry<Interface>& registry() {
  static Registry<Interface> registry;
  return registry;
}

// Registers P, which implements `Interface`. `fixed`: what each P is constructed from; where the interface has a
// Factory, that makes them and there is nothing fixed.
template <class Interface, class P, class... Fixed>
bool add_plug_in(PlugInText text, Fixed... fixed) {
  if constexpr (requires { typename Interface::Factory; }) {
    static_assert(sizeof...(Fixed) == 0);
    return registry<Interface>().add(std::move(text),
                                     [] { return std::make_unique<typename Interface::template FactoryOf<P>>(); });
  } else {
    return registry<Interface>().add(std::move(text),
                                     [... fixed = std::move(fixed)] { return std::make_unique<P>(fixed...); });
  }
}

}  // namespace uvmsim
