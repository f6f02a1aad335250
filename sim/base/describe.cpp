#include "base/describe.h"

namespace uvmsim {
namespace {

// `call` on the inner object; unset stays unset.
template <class Result, class Object, class... Arguments, class Inner>
std::function<Result(Object, Arguments...)> on_inner(const std::function<Result(Object, Arguments...)>& call,
                                                     const Inner& inner) {
  if (!call) return {};
  return [call, inner](Object object, Arguments... arguments) -> Result { return call(inner(object), arguments...); };
}

}  // namespace

FieldInfo inside(FieldInfo field, const std::function<void*(void*)>& inner,
                 const std::function<const void*(const void*)>& inner_const) {
  field.locate = on_inner(field.locate, inner);
  field.clear = on_inner(field.clear, inner);
  field.append = on_inner(field.append, inner);
  field.size = on_inner(field.size, inner_const);
  field.at = on_inner(field.at, inner_const);
  field.text_of = on_inner(field.text_of, inner_const);
  field.set_text = on_inner(field.set_text, inner);
  field.integers_of = on_inner(field.integers_of, inner_const);
  field.set_integers = on_inner(field.set_integers, inner);
  for (Alternative& a : field.alternatives) {
    a.append = on_inner(a.append, inner);
    a.at = on_inner(a.at, inner_const);
  }
  return field;
}

}  // namespace uvmsim
