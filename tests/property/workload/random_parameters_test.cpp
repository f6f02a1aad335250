// Every registered generator makes valid traces, whatever its parameters; a new file is enrolled by existing.
#include <algorithm>
#include <cmath>
#include <gtest/gtest.h>
#include <random>
#include <string>

#include "support/generate.h"
#include "trace/checker.h"

namespace uvmsim {
namespace {

class RandomParameters {
 public:
  explicit RandomParameters(std::uint64_t seed) : random_(seed) {}

  // Gives each parameter, with even odds, another value: numbers of an eighth to twice their default and inside their
  // range, lists and byte counts left as they are.
  void change(Generator& generator) {
    const auto [description, object] = generator.parameters();
    for (const FieldInfo& field : description->fields) {
      void* member = field.locate(object);
      if (random_() % 2 == 0) continue;
      if (field.kind == FieldInfo::Kind::Integer32) scale(*static_cast<int*>(member), field);
      if (field.kind == FieldInfo::Kind::Integer64) scale(*static_cast<std::int64_t*>(member), field);
      if (field.kind == FieldInfo::Kind::Flag) *static_cast<bool*>(member) = random_() % 2 == 0;
      if (field.kind == FieldInfo::Kind::Text && !field.choices.empty())
        *static_cast<std::string*>(member) = field.choices[random_() % field.choices.size()];
    }
  }

 private:
  template <class T>
  void scale(T& value, const FieldInfo& field) {
    const double factor = std::exp2(static_cast<double>(random_() % 4097) / 1024.0 - 3.0);
    const double wanted = std::floor(static_cast<double>(value) * factor);
    const double below = std::min(wanted, field.max.value_or(wanted));
    value = static_cast<T>(std::max(below, field.min.value_or(below)));
  }

  std::mt19937_64 random_;
};

TEST(Generators, AnyParametersGiveAValidTrace) {
  for (const std::string& name : generators().names()) {
    int made = 0;
    for (std::uint64_t seed = 0; seed < 8; ++seed) {
      const std::unique_ptr<Generator> generator = make_generator(name);
      RandomParameters(seed).change(*generator);
      if (!generator->contradictions().empty()) continue;
      ++made;
      const std::vector<InputError> errors = trace::check_trace(generator->generate(2));
      for (const InputError& error : errors) ADD_FAILURE() << name << ", seed " << seed << ": " << error.message;
    }
    EXPECT_GT(made, 0) << name << ": every choice was a contradiction";
  }
}

}  // namespace
}  // namespace uvmsim
