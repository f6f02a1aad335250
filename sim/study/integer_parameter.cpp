#include "study/integer_parameter.h"

namespace uvmsim {

IntegerParameter::IntegerParameter(Generator* generator, const std::string& key, std::int64_t size_unit)
    : generator_(generator), size_unit_(size_unit) {
  if (generator == nullptr) return;
  const DescribedObject parameters = generator->parameters();
  const FieldInfo* field = parameters.description->find(key);
  if (field == nullptr) return;
  void* const value = field->locate(parameters.object);
  if (field->kind == FieldInfo::Kind::Integer64) wide_ = static_cast<std::int64_t*>(value);
  if (field->kind == FieldInfo::Kind::Integer32) narrow_ = static_cast<int*>(value);
  if (field->kind == FieldInfo::Kind::ByteCount && size_unit > 0) {
    size_ = static_cast<Bytes*>(value);
    given_size_ = *size_;
  }
  smallest_ = field->min ? static_cast<std::int64_t>(*field->min) : 1;
  constexpr std::int64_t kMost = std::int64_t{1} << 30;
  largest_ = field->max ? std::min(kMost, static_cast<std::int64_t>(*field->max)) : kMost;
  given_ = get();
}

bool IntegerParameter::set(std::int64_t value) {
  if (value < smallest_ || value > largest_) return false;
  if (wide_ != nullptr) *wide_ = value;
  if (narrow_ != nullptr) *narrow_ = static_cast<int>(value);
  if (size_ != nullptr) *size_ = Bytes{value * size_unit_};
  return generator_->contradictions().empty();
}

}  // namespace uvmsim
