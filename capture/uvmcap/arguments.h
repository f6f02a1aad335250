#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

// A kernel's arguments as words: pointers are 8 bytes and aligned, alone or in a struct that is passed by value.
namespace uvmcap {

// Bytes of each parameter, in order.
using ParameterSizes = std::vector<std::size_t>;

// The aligned 8-byte words of the parameters. parameters[i] points to parameter i, as in cuLaunchKernel's kernelParams.
std::vector<std::uint64_t> argument_words(void* const* parameters, const ParameterSizes& sizes);

// The same of arguments packed into one buffer, as by cuLaunchKernel's `extra`: a list of keys and values that a null
// key ends. nullopt: it has no buffer or no size.
std::optional<std::vector<std::uint64_t>> packed_argument_words(void* const* extra);

}  // namespace uvmcap
