#include "cli/verb.h"

#include <CLI/CLI.hpp>
#include <utility>

namespace uvmsim {

Option Option::required(bool whether) {
  option_->required(whether);
  return *this;
}

Option Option::excludes(Option other) {
  option_->excludes(other.option_);
  return *this;
}

Option Option::needs(Option other) {
  option_->needs(other.option_);
  return *this;
}

Option Option::show_default() {
  option_->capture_default_str();
  return *this;
}

Option Option::comma_separated() {
  option_->delimiter(',');
  return repeatable();
}

Option Option::repeatable() {
  option_->allow_extra_args(false);
  return *this;
}

Option Option::in_range(std::int64_t least, std::int64_t most) {
  option_->check(CLI::Range(least, most));
  return *this;
}

Option Option::positive() {
  option_->check(CLI::PositiveNumber);
  return *this;
}

Option Option::one_of(const std::vector<std::string>& words) {
  option_->check(CLI::IsMember(words));
  return *this;
}

Option Option::existing_file() {
  option_->check(CLI::ExistingFile);
  return *this;
}

Option Option::existing_folder() {
  option_->check(CLI::ExistingDirectory);
  return *this;
}

bool Option::given() const { return option_->count() > 0; }

Verb Verb::verb(const std::string& name, const std::string& doc) { return Verb(*app_->add_subcommand(name, doc)); }

void Verb::require_verb() { app_->require_subcommand(1); }

bool Verb::given() const { return app_->parsed(); }

template <typename Value>
Option Verb::option(const std::string& names, Value& value, const std::string& doc) {
  return Option(*app_->add_option(names, value, doc));
}

template Option Verb::option(const std::string&, std::string&, const std::string&);
template Option Verb::option(const std::string&, int&, const std::string&);
template Option Verb::option(const std::string&, std::int64_t&, const std::string&);
template Option Verb::option(const std::string&, double&, const std::string&);
template Option Verb::option(const std::string&, std::vector<std::string>&, const std::string&);

Option Verb::flag(const std::string& names, bool& value, const std::string& doc) {
  return Option(*app_->add_flag(names, value, doc));
}

void Verb::run(std::function<void()> action) { app_->callback(std::move(action)); }

}  // namespace uvmsim
