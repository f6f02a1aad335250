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

#include <algorithm>
#include <functional>
#include <optional>
#include <string>
#include <type_traits>
#include <variant>
#include <vector>

#include "base/units.h"

namespace uvmsim {

struct Description;

// One kind of the elements of a list.
struct Alternative {
  std::string name;
  const Description* section = nullptr;
  std::function<void*(void*)> append;                       // a new default element of this kind
  std::function<const void*(const void*, std::size_t)> at;  // element i; nullptr: it is of another kind
  std::function<const void*()> plain;                       // a default-made element
};

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
  std::vector<std::string> choices;              // of a Text; empty: anything, or only plug-ins
  std::string plug_in;                           // of a Text: the kind of plug-in it may name; "": none
  const Description* section = nullptr;          // of a Section or SectionList
  std::function<void*(void*)> locate;            // the member inside its object
  std::function<void(void*)> clear;              // SectionList: no elements
  std::function<void*(void*)> append;            // SectionList: a new default element
  std::function<std::size_t(const void*)> size;  // SectionList
  std::function<const void*(const void*, std::size_t)> at;  // SectionList
  std::function<const void*()> plain;                       // SectionList: a default-made element
  // A Text that is not kept as std::string, or an IntegerList not of std::int64_t; unset: it is, and `locate` finds it.
  std::function<std::string(const void*)> text_of;
  std::function<void(void*, const std::string&)> set_text;
  std::function<std::vector<std::int64_t>(const void*)> integers_of;
  std::function<void(void*, const std::vector<std::int64_t>&)> set_integers;
  // SectionList whose elements are of several kinds, named by their key `tag`; empty: all are `section`.
  std::vector<Alternative> alternatives;
  std::string tag;
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

// An object and what describes it.
struct DescribedObject {
  const Description* description = nullptr;
  void* object = nullptr;
};

// What a number may be, inclusive.
struct Range {
  std::optional<double> min, max;
};

// `field` of an object inside another one: `inner` and `inner_const` lead from the other one to it.
FieldInfo inside(FieldInfo field, const std::function<void*(void*)>& inner,
                 const std::function<const void*(const void*)>& inner_const);

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
  // The name of a plug-in of `kind`, as in `uvmsim list KIND`, or one of `others`.
  Describe& plug_in(std::string name, std::string T::*member, std::string kind, std::string doc,
                    std::vector<std::string> others = {}) {
    text(std::move(name), member, std::move(doc), std::move(others));
    description_.fields.back().plug_in = std::move(kind);
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
    f.plain = []() -> const void* {
      static const U plain{};
      return &plain;
    };
    return *this;
  }
  // An enumeration, written as a word: `words`, from the value `first` on.
  template <class E>
  requires std::is_enum_v<E> Describe& choice(std::string name, E T::*member, std::string doc,
                                              std::vector<std::string> words, int first = 0) {
    add(std::move(name), FieldInfo::Kind::Text, member, std::move(doc));
    FieldInfo& f = description_.fields.back();
    f.choices = words;
    f.text_of = [member, words, first](const void* object) {
      return words[static_cast<std::size_t>(static_cast<int>(static_cast<const T*>(object)->*member) - first)];
    };
    f.set_text = [member, words, first](void* object, const std::string& word) {
      const auto at = std::find(words.begin(), words.end(), word) - words.begin();
      static_cast<T*>(object)->*member = static_cast<E>(static_cast<int>(at) + first);
    };
    return *this;
  }
  // A flag, written as one of two words.
  Describe& choice(std::string name, bool T::*member, std::string doc, std::string no, std::string yes) {
    add(std::move(name), FieldInfo::Kind::Text, member, std::move(doc));
    FieldInfo& f = description_.fields.back();
    f.choices = {no, yes};
    f.text_of = [member, no, yes](const void* object) { return static_cast<const T*>(object)->*member ? yes : no; };
    f.set_text = [member, yes](void* object, const std::string& word) {
      static_cast<T*>(object)->*member = word == yes;
    };
    return *this;
  }
  // An index, written as its number.
  template <class Tag>
  Describe& index(std::string name, Index<Tag, int> T::*member, std::string doc, Range range = {}) {
    add(std::move(name), FieldInfo::Kind::Integer32, member, std::move(doc), range);
    description_.fields.back().locate = [member](void* object) -> void* {
      return &(static_cast<T*>(object)->*member).value;
    };
    return *this;
  }
  // Bytes, written as a whole number.
  Describe& byte_number(std::string name, Bytes T::*member, std::string doc) {
    add(std::move(name), FieldInfo::Kind::Integer64, member, std::move(doc), {0, {}}, "B");
    description_.fields.back().locate = [member](void* object) -> void* {
      return &(static_cast<T*>(object)->*member).value;
    };
    return *this;
  }
  // The fields of a member, as if they were this object's own.
  template <class U>
  Describe& part(U T::*member, const Description& of) {
    const auto inner = [member](void* object) -> void* { return &(static_cast<T*>(object)->*member); };
    const auto inner_const = [member](const void* object) -> const void* {
      return &(static_cast<const T*>(object)->*member);
    };
    for (const FieldInfo& field : of.fields) description_.fields.push_back(inside(field, inner, inner_const));
    return *this;
  }
  // A list of std::variant: each element names its kind by the key `tag`. `names` and `sections`: of the alternatives,
  // in their order.
  template <class... Kinds>
  Describe& variants(std::string name, std::vector<std::variant<Kinds...>> T::*member, std::string doc, std::string tag,
                     const std::vector<std::string>& names, const std::vector<const Description*>& sections) {
    add(std::move(name), FieldInfo::Kind::SectionList, member, std::move(doc));
    FieldInfo& f = description_.fields.back();
    f.tag = std::move(tag);
    f.clear = [member](void* object) { (static_cast<T*>(object)->*member).clear(); };
    f.size = [member](const void* object) { return (static_cast<const T*>(object)->*member).size(); };
    const auto alternative = [&]<class Kind>(std::type_identity<Kind>) {
      const std::size_t i = f.alternatives.size();
      f.alternatives.push_back({names[i], sections[i],
                                [member](void* object) -> void* {
                                  return &std::get<Kind>((static_cast<T*>(object)->*member).emplace_back(Kind{}));
                                },
                                [member](const void* object, std::size_t n) -> const void* {
                                  return std::get_if<Kind>(&(static_cast<const T*>(object)->*member)[n]);
                                },
                                []() -> const void* {
                                  static const Kind plain{};
                                  return &plain;
                                }});
    };
    (alternative(std::type_identity<Kinds>{}), ...);
    return *this;
  }
  Describe& numbers(std::string name, std::vector<double> T::*member, std::string doc, Range range = {}) {
    return add(std::move(name), FieldInfo::Kind::NumberList, member, std::move(doc), range);
  }
  Describe& integers(std::string name, std::vector<std::int64_t> T::*member, std::string doc, Range range = {}) {
    return add(std::move(name), FieldInfo::Kind::IntegerList, member, std::move(doc), range);
  }
  Describe& integers(std::string name, std::vector<std::int32_t> T::*member, std::string doc, Range range = {}) {
    add(std::move(name), FieldInfo::Kind::IntegerList, member, std::move(doc), range);
    FieldInfo& f = description_.fields.back();
    f.integers_of = [member](const void* object) {
      const std::vector<std::int32_t>& list = static_cast<const T*>(object)->*member;
      return std::vector<std::int64_t>(list.begin(), list.end());
    };
    f.set_integers = [member](void* object, const std::vector<std::int64_t>& values) {
      std::vector<std::int32_t>& list = static_cast<T*>(object)->*member;
      list.clear();
      for (const std::int64_t v : values) list.push_back(static_cast<std::int32_t>(v));
    };
    return *this;
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
