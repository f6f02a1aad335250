// The members of a struct, named once: from the list come its JSON, its documentation and its sums.
//
//   template <>
//   inline constexpr auto kFields<TimeSplit> = std::tuple{
//       Field{"compute_s", &TimeSplit::compute_s, "s", "a kernel runs and ..."}, ...};
//   UVMSIM_NAMES_EVERY_MEMBER(TimeSplit);
#pragma once

#include <cstddef>
#include <string_view>
#include <tuple>
#include <type_traits>

namespace uvmsim {

// One member. `unit` is of the value as written: "s", "B", "faults"; "" where there is none.
template <class S, class T>
struct Field {
  std::string_view name;
  T S::*member;
  std::string_view unit;
  std::string_view doc;
};
template <class S, class T>  // clang 14 deduces no aggregates
Field(std::string_view, T S::*, std::string_view, std::string_view)->Field<S, T>;

// A member whose own fields stand among those of S, not in an object of their own.
template <class S, class T>
struct Embedded {
  T S::*member;
};
template <class S, class T>
Embedded(T S::*) -> Embedded<S, T>;

// The fields of S, in the order in which they are shown.
template <class S>
inline constexpr auto kFields = std::tuple<>{};

template <class S>
concept HasFields = !std::is_same_v<std::remove_cvref_t<decltype(kFields<S>)>, std::tuple<>>;

// Calls `visit(field, member)` for each member of `object`, const or not, with those of embedded ones in place.
template <class S, class Visit>
constexpr void for_each_member(S& object, Visit&& visit);

namespace fields_detail {

template <class Object, class S, class T, class Visit>
constexpr void visit_entry(Object& object, const Field<S, T>& field, Visit& visit) {
  visit(field, object.*field.member);
}
template <class Object, class S, class T, class Visit>
constexpr void visit_entry(Object& object, const Embedded<S, T>& part, Visit& visit) {
  for_each_member(object.*part.member, visit);
}

struct Anything {
  template <class T>
  operator T() const;  // never defined: only asked whether T{Anything...} would compile
};

template <class S, class... Known>
consteval std::size_t member_count(Known... known) {
  if constexpr (requires { S{known..., Anything{}}; })
    return member_count<S>(known..., Anything{});
  else
    return sizeof...(Known);
}

}  // namespace fields_detail

template <class S, class Visit>
constexpr void for_each_member(S& object, Visit&& visit) {
  std::apply([&](const auto&... entries) { (fields_detail::visit_entry(object, entries, visit), ...); },
             kFields<std::remove_const_t<S>>);
}

}  // namespace uvmsim

// Does not compile when a member of the aggregate S is missing from kFields<S>.
#define UVMSIM_NAMES_EVERY_MEMBER(S)                                                                              \
  static_assert(std::tuple_size_v<std::remove_cvref_t<decltype(kFields<S>)>> == fields_detail::member_count<S>(), \
                "a member of " #S " is missing from kFields<" #S ">")
