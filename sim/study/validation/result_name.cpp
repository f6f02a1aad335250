#include "study/validation/result_name.h"

#include <charconv>
#include <optional>
#include <type_traits>
#include <utility>

#include "base/user_error.h"
#include "metrics/result_fields.h"

namespace uvmsim {
namespace {

// "gpus[1].h2d_bytes" is {"gpus", "1", "h2d_bytes"}.
struct Name {
  std::string_view head;
  std::optional<std::string_view> index;  // without quotes
  std::string_view rest;                  // behind the dot
};

Name split(std::string_view text) {
  Name name;
  std::size_t end = text.find_first_of("[.");
  name.head = text.substr(0, end);
  if (end != std::string_view::npos && text[end] == '[') {
    const bool quoted = end + 1 < text.size() && text[end + 1] == '"';
    const std::size_t start = end + (quoted ? 2 : 1);
    const std::size_t close = text.find(quoted ? "\"]" : "]", start);
    name.index = text.substr(start, close - start);
    end = close == std::string_view::npos ? close : text.find('.', close);
  }
  if (end != std::string_view::npos) name.rest = text.substr(end + 1);
  return name;
}

std::optional<std::size_t> whole(std::string_view text) {
  std::size_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  return error == std::errc() && end == text.data() + text.size() ? std::optional(value) : std::nullopt;
}

// The member of `object` called `name`, when it is a number. Names that are seen are added to `known`.
template <class S>
std::optional<double> member_named(const S& object, std::string_view name, std::vector<std::string>& known) {
  std::optional<double> found;
  for_each_member(object, [&](const auto& field, const auto& member) {
    if constexpr (std::is_arithmetic_v<std::remove_cvref_t<decltype(member)>>) {
      known.emplace_back(field.name);
      if (field.name == name) found = static_cast<double>(member);
    }
  });
  return found;
}

std::string unknown(std::string_view name, const std::vector<std::string>& known) {
  return "a result has no number \"" + std::string(name) + "\"" + did_you_mean(name, known);
}

template <class T>
NamedNumber element(const std::vector<T>& list, const Name& name) {
  const std::string text(name.head);
  const std::optional<std::size_t> index = name.index ? whole(*name.index) : std::nullopt;
  if (!index) return text + " is a list: expected " + text + "[0]";
  if (*index >= list.size()) return text + " has " + std::to_string(list.size()) + " elements, counted from 0";
  return static_cast<double>(list[*index]);
}

NamedNumber of_gpu(std::string_view text, const GpuResult& gpu, std::vector<std::string> known) {
  const Name name = split(text);
  if (name.head == "iteration_s") return element(gpu.iteration_s, name);
  if (name.head == "iteration_h2d_bytes") return element(gpu.iteration_h2d_bytes, name);
  known.insert(known.end(), {"iteration_s", "iteration_h2d_bytes"});
  if (const auto count = member_named(gpu, text, known)) return *count;
  if (const auto time = member_named(gpu.time_split_s, text, known)) return *time;
  return unknown(text, known);
}

NamedNumber of_link(const Name& name, const std::vector<LinkDirectionResult>& links) {
  if (!name.index) return R"(expected a link by its name, such as link["pcie0 down"].bytes)";
  std::vector<std::string> names, known;
  for (const LinkDirectionResult& link : links) {
    names.push_back(link.name);
    if (link.name != *name.index) continue;
    if (const auto number = member_named(link, name.rest, known)) return *number;
    return unknown(name.rest, known);
  }
  return "no link is named \"" + std::string(*name.index) + "\"" + did_you_mean(*name.index, names);
}

// `memories`: the most of each, or the mean.
template <class T>
NamedNumber of_memory(const Name& name, const std::vector<T>& memories) {
  if (!name.index) return "expected a memory by its name, such as " + std::string(name.head) + R"(["gpu0"])";
  std::vector<std::string> names;
  for (const T& memory : memories) {
    names.push_back(memory.name);
    if (memory.name == *name.index) return static_cast<double>(memory.bytes);
  }
  return "no plan moved tensors of a memory \"" + std::string(*name.index) + "\"" + did_you_mean(*name.index, names);
}

NamedNumber of_largest(const Name& name, const std::vector<LargestValue>& largest) {
  for (const LargestValue& of : largest)
    if (of.parameter == name.index) return static_cast<double>(name.head == "largest" ? of.planned : of.unplanned);
  return R"(expected a parameter of the generator, such as largest["batch"])";
}

bool is_largest(const Name& name) { return name.head == "largest" || name.head == "largest_unplanned"; }

}  // namespace

bool asks_for_loading(std::string_view text) {
  std::vector<std::string> known;
  return member_named(LoadingRates{}, text, known).has_value();
}

bool is_of_trace(std::string_view text) { return text == "flops" || text == "allocated_bytes"; }

bool asks_for_need(std::string_view text) {
  return text == "need_bytes" || text == "unplanned_bytes" || is_of_trace(text) || is_largest(split(text));
}

std::string parameter_of_largest(std::string_view text) {
  const Name name = split(text);
  return is_largest(name) && name.index ? std::string(*name.index) : "";
}

NamedNumber number_named(std::string_view text, const Result& result) {
  const Name name = split(text);
  if (name.head == "gpus") {
    const std::optional<std::size_t> index = name.index ? whole(*name.index) : std::nullopt;
    if (!index) return "expected a GPU by its number, such as gpus[0].h2d_bytes";
    if (*index >= result.gpus.size())
      return "the machine has " + std::to_string(result.gpus.size()) + " GPUs, counted from 0";
    return of_gpu(name.rest, result.gpus[*index], {});
  }
  if (name.head == "link") return of_link(name, result.links);
  if (name.head == "peak") return of_memory(name, result.plan.memories);
  if (name.head == "mean") return of_memory(name, result.plan.means);
  if (is_largest(name)) return of_largest(name, result.plan.need.largest);
  if (text == "samples_per_s") return result.samples / result.duration_s;
  if (text == "need_bytes" && result.plan.need.need_bytes == 0) return "no memory was found that a plan fits into";
  std::vector<std::string> known = {"samples_per_s"};
  if (const auto number = member_named(result.plan.need, text, known)) return *number;
  if (const auto number = member_named(result.loading, text, known)) return *number;
  if (const auto number = member_named(result, text, known)) return *number;
  return of_gpu(text, result.gpus.empty() ? GpuResult{} : result.gpus.front(), std::move(known));
}

std::string error_of_name(std::string_view text) {
  // A result that has whatever GPU, link and element the name asks for.
  const Name name = split(text);
  if (is_of_trace(text)) return "";
  const Name inner = name.head == "gpus" ? split(name.rest) : name;
  Result any;
  any.gpus.resize(1);
  const auto most = [](const Name& of) { return of.index ? whole(*of.index).value_or(0) : 0; };
  constexpr std::size_t kMost = 4096;
  if (most(name) > kMost || most(inner) > kMost) return "the number in [ ] is too large";
  if (name.head == "gpus") any.gpus.resize(most(name) + 1);
  any.gpus.back().iteration_s.resize(most(inner) + 1);
  any.gpus.back().iteration_h2d_bytes.resize(most(inner) + 1);
  if (name.index) any.links.push_back({.name = std::string(*name.index)});
  if (name.index) any.plan.memories.push_back({.name = std::string(*name.index)});
  if (name.index) any.plan.means.push_back({.name = std::string(*name.index)});
  any.plan.need = {.unplanned_bytes = 1, .need_bytes = 1, .largest = {}};
  if (name.index) any.plan.need.largest.push_back({.parameter = std::string(*name.index)});
  any.duration_s = 1;
  const NamedNumber number = number_named(text, any);
  const std::string* fault = std::get_if<std::string>(&number);
  return fault == nullptr ? "" : *fault;
}

}  // namespace uvmsim
