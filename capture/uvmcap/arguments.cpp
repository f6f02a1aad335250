#include "arguments.h"

#include <cstring>

namespace uvmcap {

namespace {

// CU_LAUNCH_PARAM_*, fixed by the driver's ABI.
constexpr std::uintptr_t kEnd = 0;
constexpr std::uintptr_t kBufferPointer = 1;
constexpr std::uintptr_t kBufferSize = 2;

void append_words(const void* data, std::size_t bytes, std::vector<std::uint64_t>& words) {
  const char* from = static_cast<const char*>(data);
  for (std::size_t offset = 0; offset + sizeof(std::uint64_t) <= bytes; offset += sizeof(std::uint64_t)) {
    std::uint64_t word = 0;
    std::memcpy(&word, from + offset, sizeof word);
    words.push_back(word);
  }
}

}  // namespace

std::vector<std::uint64_t> argument_words(void* const* parameters, const ParameterSizes& sizes) {
  std::vector<std::uint64_t> words;
  for (std::size_t i = 0; i < sizes.size(); ++i) append_words(parameters[i], sizes[i], words);
  return words;
}

std::optional<std::vector<std::uint64_t>> packed_argument_words(void* const* extra) {
  const void* buffer = nullptr;
  const std::size_t* bytes = nullptr;
  for (; reinterpret_cast<std::uintptr_t>(extra[0]) != kEnd; extra += 2) {
    const auto key = reinterpret_cast<std::uintptr_t>(extra[0]);
    if (key == kBufferPointer) buffer = extra[1];
    if (key == kBufferSize) bytes = static_cast<const std::size_t*>(extra[1]);
  }
  if (buffer == nullptr || bytes == nullptr) return std::nullopt;
  std::vector<std::uint64_t> words;
  append_words(buffer, *bytes, words);
  return words;
}

}  // namespace uvmcap
