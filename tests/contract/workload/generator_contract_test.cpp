// Every registered generator keeps the contract of workload/generator.h; a new file is enrolled by existing.
#include <algorithm>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <string>
#include <utility>
#include <vector>

#include "support/generate.h"
#include "support/trace_text.h"
#include "trace/checker.h"
#include "trace/info.h"

namespace uvmsim {
namespace {

using trace::text_of;

class GeneratorContract : public testing::TestWithParam<std::string> {
 protected:
  static trace::Trace trace_of(int iterations) { return make_generator(GetParam())->generate(iterations); }

  template <class T>
  static T& at(Generator& generator, const FieldInfo& field) {
    return *static_cast<T*>(field.locate(generator.parameters().object));
  }

  // Every choice of every text parameter, and first of all none: (field, choice).
  static std::vector<std::pair<std::size_t, std::string>> choices_of(const std::vector<FieldInfo>& fields) {
    std::vector<std::pair<std::size_t, std::string>> choices = {{0, ""}};
    for (std::size_t f = 0; f < fields.size(); ++f)
      for (const std::string& choice : fields[f].choices) choices.emplace_back(f, choice);
    return choices;
  }

  // Gives a parameter a larger or a smaller value inside its range.
  static void change(Generator& generator, const FieldInfo& field, bool up) {
    const auto number = [&](auto& value) {
      const double wanted = up ? static_cast<double>(value) * 2 + 1 : static_cast<double>(value) / 1000;
      const double low = field.min.value_or(wanted), high = field.max.value_or(wanted);
      value = static_cast<std::remove_reference_t<decltype(value)>>(std::max(std::min(wanted, high), low));
    };
    switch (field.kind) {
      case FieldInfo::Kind::Integer32:
        return number(at<int>(generator, field));
      case FieldInfo::Kind::Integer64:
        return number(at<std::int64_t>(generator, field));
      case FieldInfo::Kind::Number:
        return number(at<double>(generator, field));
      case FieldInfo::Kind::ByteCount:
        return number(at<Bytes>(generator, field).value);
      case FieldInfo::Kind::Bandwidth:
        return number(at<BytesPerSecond>(generator, field).value);
      case FieldInfo::Kind::TimeSpan:
        at<Duration>(generator, field) += nanoseconds(5000);
        return;
      case FieldInfo::Kind::Flag:
        at<bool>(generator, field) = up;
        return;
      case FieldInfo::Kind::Text:
        at<std::string>(generator, field) = up ? field.choices.back() : field.choices.front();
        return;
      case FieldInfo::Kind::IntegerList:
        at<std::vector<std::int64_t>>(generator, field) = {1};
        return;
      default:
        FAIL() << field.name << " is of a kind this test cannot change yet";
    }
  }

  // Whether another value of `field` changes the trace when the text parameter `mode` is `choice`.
  static bool has_effect(const FieldInfo& field, const FieldInfo& mode, const std::string& choice) {
    for (const bool up : {true, false}) {
      const auto before = make_generator(GetParam()), after = make_generator(GetParam());
      for (Generator* generator : {before.get(), after.get()})
        if (!choice.empty()) at<std::string>(*generator, mode) = choice;
      change(*after, field, up);
      if (after->contradictions().empty() && text_of(before->generate(2)) != text_of(after->generate(2))) return true;
    }
    return false;
  }
};

TEST_P(GeneratorContract, DefaultsHaveNoContradiction) {
  EXPECT_TRUE(make_generator(GetParam())->contradictions().empty());
}

TEST_P(GeneratorContract, SameParametersGiveTheSameRecords) { EXPECT_EQ(text_of(trace_of(2)), text_of(trace_of(2))); }

// Whatever a parameter is for, some other value of it changes the trace, alone or with another choice of one text
// parameter (a mode).
TEST_P(GeneratorContract, EveryParameterHasAnEffect) {
  const std::vector<FieldInfo>& fields = make_generator(GetParam())->parameters().description->fields;
  for (const FieldInfo& field : fields)
    EXPECT_TRUE(std::ranges::any_of(choices_of(fields), [&](const auto& choice) {
      return has_effect(field, fields[choice.first], choice.second);
    })) << field.name;
}

TEST_P(GeneratorContract, TracesAreValid) {
  const std::vector<InputError> errors = trace::check_trace(trace_of(2));
  for (const InputError& error : errors) ADD_FAILURE() << error.place << ": " << error.message;
}

TEST_P(GeneratorContract, PatternsTakeAllOptionsThatTheyAreGiven) {
  EXPECT_THAT(trace::describe_trace(trace_of(2)).unused_options, testing::IsEmpty());
}

TEST_P(GeneratorContract, EveryIterationIsOpenedOnce) {
  const auto iterations = records_of<trace::Iteration>(trace_of(3));
  ASSERT_EQ(iterations.size(), 3u);
  for (std::size_t i = 0; i < 3; ++i) EXPECT_EQ(iterations[i].index, static_cast<std::int64_t>(i));
}

TEST_P(GeneratorContract, HeaderSaysWhereRecordsAndDurationsComeFrom) {
  const trace::Header header = trace_of(1).header;
  EXPECT_FALSE(header.generator.empty());
  EXPECT_FALSE(header.name.empty());
  EXPECT_FALSE(header.provenance.empty());
  EXPECT_FALSE(header.durations.empty());
  EXPECT_FALSE(header.durations_status.empty());
  EXPECT_FALSE(header.sample_unit.empty());
  EXPECT_GT(header.samples, 0);
}

// A kernel or copy that does nothing is a slip of the generator.
TEST_P(GeneratorContract, KernelsTakeTimeAndTouchMemory) {
  const trace::Trace t = trace_of(2);
  for (const trace::Kernel& kernel : records_of<trace::Kernel>(t)) {
    ASSERT_GT(kernel.duration_ns, 0);
    ASSERT_GT(kernel.accesses.count, 0u);
  }
  for (const trace::Copy& copy : records_of<trace::Copy>(t)) ASSERT_GT(copy.bytes, 0);
}

INSTANTIATE_TEST_SUITE_P(All, GeneratorContract, testing::ValuesIn(generators().names()),
                         [](const auto& test) { return test.param; });

}  // namespace
}  // namespace uvmsim
