// What a verb of the command line declares: its options, its arguments, its own verbs. CLI11, behind it, takes ten
// seconds of compiling per file: verb.cpp, command_tree.cpp and program.cpp are the only ones that include it.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

namespace CLI {
class App;
class Option;
}  // namespace CLI

namespace uvmsim {

// An option or argument of a verb. A handle, as Verb is.
class Option {
 public:
  explicit Option(CLI::Option& option) : option_(&option) {}

  Option required(bool whether = true);
  Option excludes(Option other);
  Option needs(Option other);
  Option show_default();     // in --help
  Option comma_separated();  // several values in one word
  Option repeatable();       // one value each time, and the option several times

  Option in_range(std::int64_t least, std::int64_t most);
  Option positive();
  Option one_of(const std::vector<std::string>& words);
  Option existing_file();
  Option existing_folder();

  bool given() const;

 private:
  CLI::Option* option_;
};

// A verb, or the program itself. A handle: what it names belongs to the parser.
class Verb {
 public:
  explicit Verb(CLI::App& app) : app_(&app) {}

  Verb verb(const std::string& name, const std::string& doc);
  void require_verb();  // one of those
  bool given() const;

  // `names`: "-o,--output" for an option, "config" for an argument. What the user gives is written to `value`, which
  // outlives the parser: a std::string, int, std::int64_t or double, or a vector of strings, which takes several.
  template <typename Value>
  Option option(const std::string& names, Value& value, const std::string& doc);
  Option flag(const std::string& names, bool& value, const std::string& doc);

  // What the verb does, when the whole command line was read. Throws UserError for the user's errors.
  void run(std::function<void()> action);

  const CLI::App& app() const { return *app_; }

 private:
  CLI::App* app_;
};

}  // namespace uvmsim
