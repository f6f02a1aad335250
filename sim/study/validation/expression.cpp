#include "study/validation/expression.h"

#include <algorithm>
#include <cmath>

#include "base/quantity.h"

namespace uvmsim {
namespace {

constexpr int kMaxDepth = 100;

bool is_letter(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_'; }
bool is_digit(char c) { return c >= '0' && c <= '9'; }

}  // namespace

class ExpressionParser {
 public:
  using Operation = Expression::Operation;

  ExpressionParser(std::string_view text, Expression::Error& error) : text_(text), error_(error) {}

  std::optional<Expression> parse() {
    if (!sum()) return std::nullopt;
    if (next() != '\0') {
      fail("expected an operator");
      return std::nullopt;
    }
    return std::move(expression_);
  }

 private:
  // Skips blanks; the character that follows, '\0' at the end.
  char next() {
    while (at_ < text_.size() && text_[at_] == ' ') ++at_;
    return at_ < text_.size() ? text_[at_] : '\0';
  }
  bool fail(std::string message) {
    error_ = {at_ + 1, std::move(message)};
    return false;
  }
  bool expect(char c) {
    if (next() != c) return fail(std::string("expected ") + c);
    ++at_;
    return true;
  }
  void add(Operation operation) { expression_.steps_.push_back({operation}); }

  bool sum() {
    if (++depth_ > kMaxDepth) return fail("nested too deep");
    if (!product()) return false;
    for (char c = next(); c == '+' || c == '-'; c = next()) {
      ++at_;
      if (!product()) return false;
      add(c == '+' ? Operation::Add : Operation::Subtract);
    }
    --depth_;
    return true;
  }
  bool product() {
    if (!factor()) return false;
    for (char c = next(); c == '*' || c == '/'; c = next()) {
      ++at_;
      if (!factor()) return false;
      add(c == '*' ? Operation::Multiply : Operation::Divide);
    }
    return true;
  }
  bool factor() {
    const char c = next();
    if (c == '(') {
      ++at_;
      return sum() && expect(')');
    }
    if (c == '-') {
      ++at_;
      if (++depth_ > kMaxDepth) return fail("nested too deep");
      if (!factor()) return false;
      --depth_;
      add(Operation::Negate);
      return true;
    }
    if (is_digit(c) || c == '.') return number();
    if (is_letter(c)) return name_or_function();
    return fail("expected a number, a name or (");
  }
  bool number() {
    std::size_t end = at_;
    while (end < text_.size() && (is_digit(text_[end]) || text_[end] == '.' || text_[end] == 'e' ||
                                  ((text_[end] == '-' || text_[end] == '+') && text_[end - 1] == 'e')))
      ++end;
    const std::optional<double> value = parse_number(text_.substr(at_, end - at_));
    if (!value) return fail("no number");
    at_ = end;
    expression_.steps_.push_back({Operation::Number, *value});
    return true;
  }
  bool name_or_function() {
    std::string name;
    do {
      if (!name.empty()) name += text_[at_++];  // the dot
      if (!part(name)) return false;
    } while (at_ < text_.size() && text_[at_] == '.');
    if (next() == '(') return function(name);
    expression_.steps_.push_back({Operation::Name, 0, expression_.names_.size()});
    expression_.names_.push_back(std::move(name));
    return true;
  }
  // Appends one part of a name to `name`.
  bool part(std::string& name) {
    if (at_ >= text_.size() || !is_letter(text_[at_])) return fail("expected a name");
    while (at_ < text_.size() && (is_letter(text_[at_]) || is_digit(text_[at_]))) name += text_[at_++];
    if (at_ >= text_.size() || text_[at_] != '[') return true;
    const std::size_t start = at_ + 1;
    const bool quoted = start < text_.size() && text_[start] == '"';
    const std::size_t end = text_.find(quoted ? "\"]" : "]", start + 1);
    if (end == std::string_view::npos) return fail(quoted ? "expected \"] at its end" : "expected ] at its end");
    if (!quoted && !std::ranges::all_of(text_.substr(start, end - start), is_digit))
      return fail("expected a whole number or a text in quotes in [ ]");
    const std::size_t behind = end + (quoted ? 2 : 1);
    name += text_.substr(at_, behind - at_);
    at_ = behind;
    return true;
  }
  bool function(const std::string& name) {
    if (name != "min" && name != "max") return fail("there is no function " + name + "; expected min or max");
    if (!expect('(') || !sum() || !expect(',') || !sum() || !expect(')')) return false;
    add(name == "min" ? Operation::Min : Operation::Max);
    return true;
  }

  std::string_view text_;
  Expression::Error& error_;
  std::size_t at_ = 0;
  int depth_ = 0;
  Expression expression_;
};

std::optional<Expression> Expression::parse(std::string_view text, Error& error) {
  return ExpressionParser(text, error).parse();
}

std::optional<double> Expression::evaluate(
    const std::function<std::optional<double>(const std::string&)>& value_of) const {
  std::vector<double> stack;
  const auto pop = [&] {
    const double top = stack.back();
    stack.pop_back();
    return top;
  };
  for (const Step& step : steps_) {
    if (step.operation == Operation::Number) {
      stack.push_back(step.number);
      continue;
    }
    if (step.operation == Operation::Name) {
      const std::optional<double> value = value_of(names_[step.name]);
      if (!value) return std::nullopt;
      stack.push_back(*value);
      continue;
    }
    const double b = pop();
    if (step.operation == Operation::Negate) {
      stack.push_back(-b);
      continue;
    }
    const double a = pop();
    switch (step.operation) {
      case Operation::Add:
        stack.push_back(a + b);
        break;
      case Operation::Subtract:
        stack.push_back(a - b);
        break;
      case Operation::Multiply:
        stack.push_back(a * b);
        break;
      case Operation::Divide:
        stack.push_back(a / b);
        break;
      case Operation::Min:
        stack.push_back(std::min(a, b));
        break;
      default:
        stack.push_back(std::max(a, b));
    }
  }
  return std::isfinite(stack.back()) ? std::optional(stack.back()) : std::nullopt;
}

}  // namespace uvmsim
