#include "base/json_document.h"

#include <gmock/gmock.h>
#include <map>

namespace uvmsim {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

std::vector<std::string> texts(const std::vector<InputError>& errors) {
  std::vector<std::string> all;
  for (const InputError& error : errors) all.push_back(error.place + ": " + error.message);
  return all;
}

struct Loaded {
  JsonValue value;
  std::vector<InputError> errors;
};

Loaded parse(const std::string& text) {
  Loaded l;
  l.value = parse_json(text, "f", l.errors);
  return l;
}

Loaded load(const std::map<std::string, std::string>& files, const std::string& path = "main.json") {
  Loaded l;
  const auto from_map = [&](const std::string& name) {
    const auto it = files.find(name);
    return it == files.end() ? std::nullopt : std::optional(it->second);
  };
  l.value = load_json(path, from_map, l.errors);
  return l;
}

std::string keys(const JsonValue& object) {
  std::string all;
  for (const JsonMember& member : object.members) all += member.key + " ";
  return all;
}

TEST(ParseJson, KnowsTheLineOfEveryValue) {
  const Loaded l = parse("{\n  \"a\": 1,\n  \"b\": [true,\n    \"x\"\n  ],\n  \"c\": 12\n\n}\n");
  EXPECT_THAT(l.errors, IsEmpty());
  EXPECT_EQ(l.value.origin, "f:1");
  EXPECT_EQ(l.value.find("a")->origin, "f:2");
  EXPECT_EQ(l.value.find("b")->origin, "f:3");
  EXPECT_EQ(l.value.find("b")->items.at(1).origin, "f:4");
  EXPECT_EQ(l.value.find("c")->origin, "f:6");  // although the parser has read on to the line's end
}

TEST(ParseJson, TakesBothKindsOfComments) {
  const Loaded l = parse("// one\n{ /* two\n lines */ \"a\": 1 // end\n}");
  EXPECT_THAT(l.errors, IsEmpty());
  EXPECT_EQ(l.value.find("a")->integer, 1);
  EXPECT_EQ(l.value.find("a")->origin, "f:3");
}

TEST(ParseJson, NamesEveryDuplicateKey) {
  EXPECT_THAT(texts(parse("{\"a\": 1,\n\"a\": 2,\n\"b\": {\"c\": 1, \"c\": 1}}").errors),
              ElementsAre("/a (f:2): duplicate key", "/b/c (f:3): duplicate key"));
}

TEST(ParseJson, RefusesTrailingCommas) {
  const Loaded l = parse("{\"a\": 1,\n}");
  ASSERT_EQ(l.errors.size(), 1u);
  EXPECT_EQ(l.errors[0].place, "f:2");
  EXPECT_THAT(l.errors[0].message, testing::HasSubstr("unexpected '}'"));
}

TEST(ParseJson, SyntaxFaultsHaveOneLineAndAPlace) {
  for (const char* text : {"", "{", "[1,,2]", "{\"a\" 1}", "nul", "{} {}", "\"\xff\"", "\x01", "1e999", "/* open"}) {
    const Loaded l = parse(text);
    ASSERT_EQ(l.errors.size(), 1u) << text;
    EXPECT_EQ(l.errors[0].place, "f:1") << text;
    EXPECT_THAT(l.errors[0].message, testing::Not(testing::HasSubstr("json.exception"))) << text;
  }
}

// 64 levels are read, the 65th is not, and a million do not exhaust the stack.
TEST(ParseJson, LimitsNesting) {
  const auto nested = [](std::size_t depth) { return std::string(depth, '[') + std::string(depth, ']'); };
  EXPECT_THAT(parse(nested(64)).errors, IsEmpty());
  EXPECT_THAT(texts(parse(nested(65)).errors), ElementsAre("f:1: nested deeper than 64 levels"));
  EXPECT_EQ(parse(nested(1'000'000)).errors.size(), 1u);
}

TEST(Pointer, EscapesSlashAndTilde) { EXPECT_EQ(pointer_to("/a", "b/c~d"), "/a/b~1c~0d"); }

TEST(PathBeside, IsRelativeToTheFolderOfTheNamingFile) {
  EXPECT_EQ(path_beside("configs/a.json", "machines/b.json"), "configs/machines/b.json");
  EXPECT_EQ(path_beside("configs/machines/b.json", "../a.json"), "configs/a.json");
  EXPECT_EQ(path_beside("a.json", "../b.json"), "../b.json");
  EXPECT_EQ(path_beside("/x/a.json", "./b.json"), "/x/b.json");
  EXPECT_EQ(path_beside("x/a.json", "/b.json"), "/b.json");
}

TEST(Extends, MergesUnderTheObjectKeyByKey) {
  const Loaded l = load({{"main.json", R"({"extends": "base.json", "b": {"y": 3}, "d": 4})"},
                         {"base.json", "{\"a\": 1,\n\"b\": {\"x\": 1,\n\"y\": 2}}"}});
  EXPECT_THAT(l.errors, IsEmpty());
  EXPECT_EQ(keys(l.value), "a b d ");
  EXPECT_EQ(l.value.find("b")->find("x")->origin, "base.json:2");
  EXPECT_EQ(l.value.find("b")->find("y")->integer, 3);
  EXPECT_EQ(l.value.find("b")->find("y")->origin, "main.json:1");
}

TEST(Extends, MergesAListOfFilesInOrder) {
  const Loaded l = load({{"main.json", R"({"extends": ["one.json", "two.json"]})"},
                         {"one.json", R"({"a": 1, "b": 1})"},
                         {"two.json", R"({"b": 2})"}});
  EXPECT_EQ(l.value.find("a")->integer, 1);
  EXPECT_EQ(l.value.find("b")->integer, 2);
}

TEST(Extends, WorksInsideAnyObject) {
  const Loaded l =
      load({{"configs/main.json", R"({"machine": {"extends": "m/dgx.json"}, "list": [{"extends": "m/x.json"}]})"},
            {"configs/m/dgx.json", R"({"gpu": {"extends": "x.json"}})"},
            {"configs/m/x.json", R"({"sms": 80})"}},
           "configs/main.json");
  EXPECT_THAT(l.errors, IsEmpty());
  EXPECT_EQ(l.value.find("machine")->find("gpu")->find("sms")->integer, 80);
  EXPECT_EQ(l.value.find("list")->items.at(0).find("sms")->origin, "configs/m/x.json:1");
}

TEST(Extends, NullDeletesWhatIsInherited) {
  const Loaded l =
      load({{"main.json", R"({"extends": "base.json", "a": null})"}, {"base.json", R"({"a": 1, "b": 2})"}});
  EXPECT_EQ(keys(l.value), "b ");
}

// A machine named by the outer file does not mix with the one that its base named.
TEST(Extends, AnObjectWithItsOwnExtendsReplacesTheInheritedOne) {
  const Loaded l = load({{"main.json", R"({"extends": "base.json", "m": {"g": {"extends": "new.json"}}})"},
                         {"base.json", R"({"m": {"g": {"old": 1}, "h": 1}})"},
                         {"new.json", R"({"new": 1})"}});
  EXPECT_EQ(keys(*l.value.find("m")), "g h ");
  EXPECT_EQ(keys(*l.value.find("m")->find("g")), "new ");
}

TEST(Extends, AnAnnotatedValueIsReplacedWhole) {
  const Loaded l = load({{"main.json", R"({"extends": "base.json", "a": {"value": 2}})"},
                         {"base.json", R"({"a": {"value": 1, "status": "measured", "source": "x"}})"}});
  EXPECT_EQ(keys(*l.value.find("a")), "value ");
}

TEST(Extends, NamesACycle) {
  EXPECT_THAT(
      texts(load({{"main.json", R"({"extends": "b.json"})"}, {"b.json", R"({"a": {"extends": "main.json"}})"}}).errors),
      ElementsAre("/a/extends (b.json:1): extends itself: main.json -> b.json -> main.json"));
}

TEST(Extends, NamesEveryFileThatCannotBeUsed) {
  EXPECT_THAT(texts(load({{"main.json",
                           "{\"a\": {\"extends\": \"gone.json\"},\n\"b\": {\"extends\": 3},\n\"c\": {\"extends\": "
                           "\"list.json\"}}"},
                          {"list.json", "[]"}})
                        .errors),
              ElementsAre("/a/extends (main.json:1): cannot read gone.json",
                          "/b/extends (main.json:2): expected a file name or a list of file names",
                          "/c/extends (main.json:3): list.json does not hold an object"));
  EXPECT_THAT(texts(load({}).errors), ElementsAre("main.json: cannot read main.json"));
}

// Each file names the next one twice: 2^16 readings, were they not limited.
TEST(Extends, LimitsTheNumberOfFiles) {
  std::map<std::string, std::string> files = {{"15.json", "{}"}};
  for (int i = 0; i < 15; ++i) {
    const std::string next = std::to_string(i + 1) + ".json";
    files[std::to_string(i) + ".json"] = "{\"extends\": [\"" + next + "\", \"" + next + "\"]}";
  }
  EXPECT_FALSE(load(files, "0.json").errors.empty());
}

JsonValue with(const std::string& document, const std::vector<std::string>& settings, std::vector<InputError>& errors) {
  JsonValue value = parse_json(document, "f", errors);
  for (const std::string& setting : settings) apply_setting(value, setting, errors);
  return value;
}

TEST(Setting, ReplacesAValueAndSaysSo) {
  std::vector<InputError> errors;
  const JsonValue v = with(R"({"a": {"b": 1}})", {"a.b=2"}, errors);
  EXPECT_EQ(v.find("a")->find("b")->integer, 2);
  EXPECT_EQ(v.find("a")->find("b")->origin, "--set");
  EXPECT_EQ(v.find("a")->origin, "f:1");
}

TEST(Setting, MakesTheObjectsOnItsWay) {
  std::vector<InputError> errors;
  const JsonValue v = with("{}", {"a.b.c=x"}, errors);
  EXPECT_THAT(errors, IsEmpty());
  EXPECT_EQ(v.find("a")->find("b")->find("c")->text, "x");
}

TEST(Setting, ValueIsJsonOrElseAText) {
  std::vector<InputError> errors;
  const JsonValue v =
      with("{}", {"i=3", "s=12 GB", "b=true", "l=[1,2]", "v=418.40", "q=\"7\"", "e=", "eq=a=b"}, errors);
  EXPECT_EQ(v.find("i")->integer, 3);
  EXPECT_EQ(v.find("s")->text, "12 GB");
  EXPECT_TRUE(v.find("b")->boolean);
  EXPECT_EQ(v.find("l")->items.size(), 2u);
  EXPECT_EQ(v.find("v")->text, "418.40");  // a version keeps its digits
  EXPECT_EQ(v.find("q")->type, JsonValue::Type::String);
  EXPECT_EQ(v.find("e")->text, "");
  EXPECT_EQ(v.find("eq")->text, "a=b");
}

TEST(Setting, ReachesIntoListsByNumber) {
  std::vector<InputError> errors;
  const JsonValue v = with(R"({"l": [{"a": 1}, {"a": 2}]})", {"l.1.a=5", "l.2.a=5", "l.x=5"}, errors);
  EXPECT_EQ(v.find("l")->items.at(1).find("a")->integer, 5);
  EXPECT_THAT(texts(errors), ElementsAre("/l/2 (--set): the list has 2 elements, counted from 0",
                                         "/l/x (--set): the list has 2 elements, counted from 0"));
}

TEST(Setting, LaterOnesWin) {
  std::vector<InputError> errors;
  EXPECT_EQ(with("{}", {"a=1", "a=2"}, errors).find("a")->integer, 2);
}

TEST(Setting, RefusesWhatIsNoSetting) {
  std::vector<InputError> errors;
  with(R"({"a": 1})", {"a", "=1", "a.b=1", "c..d=1"}, errors);
  EXPECT_THAT(texts(errors), ElementsAre("--set a: expected KEY=VALUE, such as machine.gpus=1",
                                         "--set =1: expected KEY=VALUE, such as machine.gpus=1",
                                         "/a/b (--set): there is no such key", "/c/ (--set): there is no such key"));
}

}  // namespace
}  // namespace uvmsim
