// Python pickles of plain data: dicts, lists, tuples, strings, numbers. Nothing is executed: opcodes that name or call
// code are refused.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "trace/bytes.h"

namespace uvmsim {

// One value. Strings are views into the reader; containers hold indices of its pool.
struct PickleValue {
  enum class Type : std::uint8_t { None, Boolean, Integer, Real, Text, List, Dict, Taken };
  Type type = Type::None;    // a tuple is a List; Taken: handed out and gone
  std::int64_t integer = 0;  // of a Boolean or Integer; of a Text, List or Dict its index
  double real = 0;
};

class PickleReader {
 public:
  // Called when a dict is complete; true takes it: its content is freed, and the pickle may not use it again.
  using OnDict = std::function<bool(const PickleReader&, const PickleValue&)>;

  // Memory: what no callback takes, strings once each, and 16 bytes per value that the pickle remembers.
  PickleReader(trace::ByteSource& source, OnDict on_dict) : source_(source), on_dict_(std::move(on_dict)) {}

  // Reads to the end of the pickle; returns its value. Throws trace::ParseError with the offset of the opcode.
  PickleValue read();

  // The members of a Dict (keys and values in turn) or the items of a List.
  const std::vector<PickleValue>& items(const PickleValue& container) const {
    return containers_[static_cast<std::size_t>(container.integer)];
  }
  const std::string& text(const PickleValue& value) const { return texts_[static_cast<std::size_t>(value.integer)]; }
  // The value of `key`; nullptr when there is none or `dict` is no dict.
  const PickleValue* find(const PickleValue& dict, std::string_view key) const;

 private:
  static constexpr std::size_t kMostValues = std::size_t{1} << 28;  // 6 GB of them: hostile or not for this machine

  unsigned char byte();
  std::string bytes(std::uint64_t count);
  std::uint64_t number(int size);  // little endian, unsigned
  void push(PickleValue value);
  PickleValue pop();
  std::size_t mark();
  PickleValue make_text(std::string text);
  PickleValue make_container(PickleValue::Type type);
  void collect(std::size_t from, PickleValue into);
  void complete(PickleValue dict);
  void remember(std::uint64_t index, PickleValue value);
  void recall(std::uint64_t index);
  // False at the end of the pickle.
  bool step(unsigned char opcode);
  bool step_number(unsigned char opcode);
  bool step_container(unsigned char opcode);
  [[noreturn]] static void fail(const std::string& what);

  trace::ByteSource& source_;
  OnDict on_dict_;
  std::vector<char> buffer_;
  std::size_t position_ = 0;
  std::int64_t offset_ = 0;  // of the next byte
  std::vector<PickleValue> stack_, memo_;
  std::vector<std::size_t> marks_;
  std::vector<std::vector<PickleValue>> containers_;
  std::vector<std::int64_t> free_containers_;
  std::vector<std::string> texts_;
  std::map<std::string, std::int64_t, std::less<>> text_index_;
  std::size_t values_ = 0;
};

}  // namespace uvmsim
