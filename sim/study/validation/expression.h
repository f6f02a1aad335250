// Arithmetic over named numbers: "two.h2d_bytes - one.h2d_bytes".
//
//   sum     = product {("+" | "-") product}
//   product = factor {("*" | "/") factor}
//   factor  = number | name | "-" factor | "(" sum ")" | ("min" | "max") "(" sum "," sum ")"
//   name    = part {"." part}, part = identifier ["[" whole number or "text" "]"]
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace uvmsim {

class Expression {
 public:
  // What is wrong with a text, with the column it shows at.
  struct Error {
    std::size_t column = 0;  // from 1
    std::string message;
  };
  // Sets `error` and returns nullopt when `text` is no expression.
  static std::optional<Expression> parse(std::string_view text, Error& error);

  // Every name, in order, as written without spaces.
  const std::vector<std::string>& names() const { return names_; }

  // The value, with each name replaced by what `value_of` says. nullopt when that is nullopt for one of them or the
  // result is no finite number.
  std::optional<double> evaluate(const std::function<std::optional<double>(const std::string&)>& value_of) const;

 private:
  friend class ExpressionParser;
  enum class Operation { Number, Name, Add, Subtract, Multiply, Divide, Negate, Min, Max };
  // In reverse Polish order.
  struct Step {
    Operation operation;
    double number = 0;     // of a Number
    std::size_t name = 0;  // of a Name: index into names_
  };
  std::vector<Step> steps_;
  std::vector<std::string> names_;
};

}  // namespace uvmsim
