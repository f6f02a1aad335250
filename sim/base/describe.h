// One description of a struct: from it come config reading, checking, `uvmsim explain`, the JSON Schema.
//
// A described struct has plain members with their defaults and a function that names them:
//
//   const Description& describe_prefetch() {
//     static const Description d = Describe<PrefetchConfig>("density prefetcher")
//         .integer("threshold_percent", &PrefetchConfig::threshold_percent, "share of a subtree ...", {0, 100})
//         .build();
//     return d;
//   }
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <type_traits>
#include <vector>

#include "base/units.h"

namespace uvmsim {

struct Description;

// One described member. `unit` and the range are of the value as written in a config.
struct FieldInfo {
  enum class Kind {
    Integer32,
    Integer64,
    Number,
    Flag,
    Text,
    ByteCount,
    TimeSpan,
    Bandwidth,
    Section,
    SectionList,
    NumberList,
    IntegerList
  };
  std::string name;
  Kind kind = Kind::Text;
  std::string doc;                               // one sentence; for parameters that shape time, with the source
  std::string unit;                              // of numbers that have no type: "%", "faults", "1/s"
  std::optional<double> min, max;                // inclusive
  std::vector<std::string> choices;              // of a Text; empty: anything
  const Description* section = nullptr;          // of a Section or SectionList
  std::function<void*(void*)> locate;            // the member inside its object
  std::function<void(void*)> clear;              // SectionList: no elements
  std::function<void*(void*)> append;            // SectionList: a new default element
  std::function<std::size_t(const void*)> size;  // SectionList
  std::function<const void*(const void*, std::size_t)> at;  // SectionList
};

struct Description {
  std::string doc;
  std::vector<FieldInfo> fields;
  const FieldInfo* find(const std::string& name) const {
    for (const FieldInfo& f : fields)
      if (f.name == name) return &f;
    return nullptr;
  }
};

// What a number may be, inclusive.
struct Range {
  std::optional<double> min, max;
};

template <class T>
class Describe {
 public:
  explicit Describe(std::string doc) { description_.doc = std::move(doc); }

  Describe& integer(std::string name, int T::*member, std::string doc, Range range = {}, std::string unit = "") {
    return add(std::move(name), FieldInfo::Kind::Integer32, member, std::move(doc), range, std::move(unit));
  }
  Describe& integer(std::string name, std::int64_t T::*member, std::string doc, Range range = {},
                    std::string unit = "") {
    return add(std::move(name), FieldInfo::Kind::Integer64, member, std::move(doc), range, std::move(unit));
  }
  Describe& number(std::string name, double T::*member, std::string doc, Range range = {}, std::string unit = "") {
    return add(std::move(name), FieldInfo::Kind::Number, member, std::move(doc), range, std::move(unit));
  }
  Describe& flag(std::string name, bool T::*member, std::string doc) {
    return add(std::move(name), FieldInfo::Kind::Flag, member, std::move(doc));
  }
  Describe& text(std::string name, std::string T::*member, std::string doc, std::vector<std::string> choices = {}) {
    add(std::move(name), FieldInfo::Kind::Text, member, std::move(doc));
    description_.fields.back().choices = std::move(choices);
    return *this;
  }
  Describe& bytes(std::string name, Bytes T::*member, std::string doc, Range range = {0, {}}) {
    return add(std::move(name), FieldInfo::Kind::ByteCount, member, std::move(doc), range, "B");
  }
  Describe& duration(std::string name, Duration T::*member, std::string doc, Range range = {0, {}}) {
    return add(std::move(name), FieldInfo::Kind::TimeSpan, member, std::move(doc), range, "s");
  }
  Describe& bandwidth(std::string name, BytesPerSecond T::*member, std::string doc, Range range = {0, {}}) {
    return add(std::move(name), FieldInfo::Kind::Bandwidth, member, std::move(doc), range, "B/s");
  }
  template <class U>
  Describe& section(std::string name, U T::*member, const Description& of, std::string doc) {
    add(std::move(name), FieldInfo::Kind::Section, member, std::move(doc));
    description_.fields.back().section = &of;
    return *this;
  }
  template <class U>
  Describe& sections(std::string name, std::vector<U> T::*member, const Description& of, std::string doc) {
    add(std::move(name), FieldInfo::Kind::SectionList, member, std::move(doc));
    FieldInfo& f = description_.fields.back();
    f.section = &of;
    f.clear = [member](void* object) { (static_cast<T*>(object)->*member).clear(); };
    f.append = [member](void* object) -> void* { return &(static_cast<T*>(object)->*member).emplace_back(); };
    f.size = [member](const void* object) { return (static_cast<const T*>(object)->*member).size(); };
    f.at = [member](const void* object, std::size_t i) -> const void* {
      return &(static_cast<const T*>(object)->*member)[i];
    };
    return *this;
  }
  Describe& numbers(std::string name, std::vector<double> T::*member, std::string doc, Range range = {}) {
    return add(std::move(name), FieldInfo::Kind::NumberList, member, std::move(doc), range);
  }
  Describe& integers(std::string name, std::vector<std::int64_t> T::*member, std::string doc, Range range = {}) {
    return add(std::move(name), FieldInfo::Kind::IntegerList, member, std::move(doc), range);
  }
  Description build() { return std::move(description_); }

 private:
  template <class M>
  Describe& add(std::string name, FieldInfo::Kind kind, M T::*member, std::string doc, Range range = {},
                std::string unit = "") {
    FieldInfo f;
    f.name = std::move(name);
    f.kind = kind;
    f.doc = std::move(doc);
    f.unit = std::move(unit);
    f.min = range.min;
    f.max = range.max;
    f.locate = [member](void* object) -> void* { return &(static_cast<T*>(object)->*member); };
    description_.fields.push_back(std::move(f));
    return *this;
  }

  Description description_;
};

}  // namespace uvmsim
