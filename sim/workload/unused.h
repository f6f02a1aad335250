// Numbers that a trace leaves for those who add to it.
#pragma once

#include <algorithm>
#include <cstdint>
#include <variant>

#include "trace/record.h"

namespace uvmsim {

// Numbers from which on none is used. Stream 0 counts as used.
struct Unused {
  std::int32_t stream = 1, event = 0, communicator = 0;
  trace::TensorId tensor = 0;

  explicit Unused(const trace::Trace& trace) {
    for (const trace::Record& record : trace.records) std::visit([this](const auto& r) { skip(r); }, record);
  }

 private:
  template <class R>
  void skip(const R& r) {
    if constexpr (requires { r.stream; }) stream = std::max(stream, r.stream + 1);
    if constexpr (requires { r.event; }) event = std::max(event, r.event + 1);
    if constexpr (requires { r.communicator; }) communicator = std::max(communicator, r.communicator + 1);
    if constexpr (requires { r.tensor; }) tensor = std::max(tensor, r.tensor + 1);
  }
};

}  // namespace uvmsim
