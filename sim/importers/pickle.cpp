#include "importers/pickle.h"

#include <cstring>

#include "importers/text_fields.h"
#include "trace/error_list.h"

namespace uvmsim {
namespace {

constexpr std::size_t kReadSize = std::size_t{1} << 16;
constexpr std::uint64_t kLongestText = std::uint64_t{1} << 20;
constexpr std::uint64_t kMostRemembered = std::uint64_t{1} << 28;

using Type = PickleValue::Type;

}  // namespace

void PickleReader::fail(const std::string& what) { throw trace::ParseError{what}; }

const PickleValue* PickleReader::find(const PickleValue& dict, std::string_view key) const {
  if (dict.type != Type::Dict) return nullptr;
  const std::vector<PickleValue>& all = items(dict);
  for (std::size_t i = 0; i + 1 < all.size(); i += 2)
    if (all[i].type == Type::Text && text(all[i]) == key) return &all[i + 1];
  return nullptr;
}

unsigned char PickleReader::byte() {
  if (position_ == buffer_.size()) {
    buffer_.resize(kReadSize);
    buffer_.resize(source_.read(buffer_.data(), kReadSize));
    position_ = 0;
    if (buffer_.empty()) fail("the pickle ends before its STOP: it was cut short");
  }
  ++offset_;
  return static_cast<unsigned char>(buffer_[position_++]);
}

std::string PickleReader::bytes(std::uint64_t count) {
  if (count > kLongestText) fail("expected a string of at most 1 MiB");
  std::string text;
  while (text.size() < count) text += static_cast<char>(byte());
  return text;
}

std::uint64_t PickleReader::number(int size) {
  std::uint64_t value = 0;
  for (int i = 0; i < size; ++i) value |= static_cast<std::uint64_t>(byte()) << (8 * i);
  return value;
}

void PickleReader::push(PickleValue value) {
  if (++values_ > kMostValues) fail("expected fewer values than 2^28 that are no trace entries");
  stack_.push_back(value);
}

PickleValue PickleReader::pop() {
  if (stack_.size() <= (marks_.empty() ? 0 : marks_.back())) fail("expected a value on the stack");
  const PickleValue value = stack_.back();
  stack_.pop_back();
  return value;
}

std::size_t PickleReader::mark() {
  if (marks_.empty()) fail("expected a MARK on the stack");
  const std::size_t at = marks_.back();
  marks_.pop_back();
  if (at > stack_.size()) fail("expected as many values as after the MARK");
  return at;
}

PickleValue PickleReader::make_text(std::string text) {
  const auto [found, added] = text_index_.try_emplace(text, static_cast<std::int64_t>(texts_.size()));
  if (added) texts_.push_back(std::move(text));
  return {Type::Text, found->second, 0};
}

PickleValue PickleReader::make_container(Type type) {
  if (!free_containers_.empty()) {
    const std::int64_t index = free_containers_.back();
    free_containers_.pop_back();
    return {type, index, 0};
  }
  containers_.emplace_back();
  return {type, static_cast<std::int64_t>(containers_.size()) - 1, 0};
}

// Moves the stack from `from` on into the container.
void PickleReader::collect(std::size_t from, PickleValue into) {
  std::vector<PickleValue>& all = containers_[static_cast<std::size_t>(into.integer)];
  all.insert(all.end(), stack_.begin() + static_cast<std::ptrdiff_t>(from), stack_.end());
  stack_.resize(from);
}

// The dict on top of the stack got its members.
void PickleReader::complete(PickleValue dict) {
  if (!on_dict_(*this, dict)) return;
  values_ -= std::min(values_, items(dict).size());
  containers_[static_cast<std::size_t>(dict.integer)] = {};
  stack_.back() = {Type::Taken, 0, 0};
  // Whatever remembers the dict must not see the next one in its place.
  for (std::size_t i = memo_.size(); i-- > 0 && i + 64 > memo_.size();)
    if (memo_[i].type == Type::Dict && memo_[i].integer == dict.integer) {
      memo_[i] = {Type::Taken, 0, 0};
      free_containers_.push_back(dict.integer);
      return;
    }
}

void PickleReader::remember(std::uint64_t index, PickleValue value) {
  if (index > kMostRemembered || index > memo_.size() + 1024) fail("expected memo indices in order");
  if (index >= memo_.size()) memo_.resize(index + 1);
  memo_[index] = value;
}

void PickleReader::recall(std::uint64_t index) {
  if (index >= memo_.size()) fail("memo " + std::to_string(index) + " was not stored before");
  push(memo_[index]);
}

bool PickleReader::step_number(unsigned char opcode) {
  const auto integer = [&](std::int64_t value) { push({Type::Integer, value, 0}); };
  switch (opcode) {
    case 'K':  // BININT1
      integer(byte());
      return true;
    case 'M':  // BININT2
      integer(static_cast<std::int64_t>(number(2)));
      return true;
    case 'J':  // BININT
      integer(static_cast<std::int32_t>(static_cast<std::uint32_t>(number(4))));
      return true;
    case 0x8a: {  // LONG1
      const int size = byte();
      if (size > 9) fail("expected an integer of at most 64 bits");
      std::uint64_t value = number(std::min(size, 8));
      if (size > 0 && size < 8 && (value >> (8 * size - 1)) != 0) value |= ~std::uint64_t{0} << (8 * size);
      if (size == 9 && byte() != 0) fail("expected an integer of at most 64 bits");
      integer(static_cast<std::int64_t>(value));
      return true;
    }
    case 'G': {  // BINFLOAT, big endian
      std::uint64_t bits = 0;
      for (int i = 0; i < 8; ++i) bits = bits << 8 | byte();
      PickleValue value{Type::Real, 0, 0};
      std::memcpy(&value.real, &bits, sizeof bits);
      push(value);
      return true;
    }
    case 'N':  // NONE
      push({});
      return true;
    case 0x88:  // NEWTRUE
    case 0x89:  // NEWFALSE
      push({Type::Boolean, opcode == 0x88, 0});
      return true;
    default:
      return false;
  }
}

bool PickleReader::step_container(unsigned char opcode) {
  switch (opcode) {
    case '}':  // EMPTY_DICT
    case ']':  // EMPTY_LIST
    case ')':  // EMPTY_TUPLE
      push(make_container(opcode == '}' ? Type::Dict : Type::List));
      return true;
    case '(':  // MARK
      marks_.push_back(stack_.size());
      return true;
    case 't': {  // TUPLE
      const std::size_t from = mark();
      const PickleValue tuple = make_container(Type::List);
      collect(from, tuple);
      push(tuple);
      return true;
    }
    case 0x85:
    case 0x86:
    case 0x87: {  // TUPLE1, TUPLE2, TUPLE3
      const std::size_t count = opcode - 0x84u;
      if (stack_.size() < count + (marks_.empty() ? 0 : marks_.back())) fail("expected values on the stack");
      const PickleValue tuple = make_container(Type::List);
      collect(stack_.size() - count, tuple);
      push(tuple);
      return true;
    }
    case 'a':    // APPEND
    case 's': {  // SETITEM
      const std::size_t count = opcode == 'a' ? 1 : 2;
      if (stack_.size() < count + 1) fail("expected values on the stack");
      marks_.push_back(stack_.size() - count);
      return step_container(opcode == 'a' ? 'e' : 'u');
    }
    case 'e':    // APPENDS
    case 'u': {  // SETITEMS
      const std::size_t from = mark();
      const Type wanted = opcode == 'e' ? Type::List : Type::Dict;
      if (from == 0 || from > stack_.size() || stack_[from - 1].type != wanted)
        fail(opcode == 'e' ? "expected a list to append to" : "expected a dict to set members of");
      if (wanted == Type::Dict && (stack_.size() - from) % 2 != 0) fail("expected keys and values in turn");
      const PickleValue into = stack_[from - 1];
      collect(from, into);
      if (wanted == Type::Dict) complete(into);
      return true;
    }
    default:
      return false;
  }
}

bool PickleReader::step(unsigned char opcode) {
  if (step_number(opcode) || step_container(opcode)) return true;
  switch (opcode) {
    case 0x80:  // PROTO
      if (const unsigned char version = byte(); version < 2 || version > 5)
        fail("expected pickle protocol 2 to 5, found " + std::to_string(version));
      return true;
    case 0x95:  // FRAME
      number(8);
      return true;
    case 'X':  // BINUNICODE
      push(make_text(bytes(number(4))));
      return true;
    case 0x8c:  // SHORT_BINUNICODE
      push(make_text(bytes(byte())));
      return true;
    case 0x8d:  // BINUNICODE8
      push(make_text(bytes(number(8))));
      return true;
    case 'q':     // BINPUT
    case 'r':     // LONG_BINPUT
    case 0x94: {  // MEMOIZE
      const std::uint64_t index = opcode == 'q' ? byte() : opcode == 'r' ? number(4) : memo_.size();
      const PickleValue top = pop();
      stack_.push_back(top);
      remember(index, top);
      return true;
    }
    case 'h':  // BINGET
      recall(byte());
      return true;
    case 'j':  // LONG_BINGET
      recall(number(4));
      return true;
    case '0':  // POP
      pop();
      return true;
    case '.':  // STOP
      return false;
    default:
      fail(std::string("expected plain data, found an opcode ") + std::to_string(opcode) +
           " that names or runs code; it is not run");
  }
}

PickleValue PickleReader::read() {
  for (;;) {
    const std::int64_t at = offset_;
    try {
      if (!step(byte())) return pop();
    } catch (const trace::ParseError& error) {
      throw trace::ParseError{"byte " + std::to_string(at) + ": " + error.message};
    }
  }
}

}  // namespace uvmsim
