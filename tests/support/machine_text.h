// Machines of a few links, read from the text of a machine file.
#pragma once

#include "machine/description.h"
#include "support/read_file.h"

namespace uvmsim::test {

inline std::string link_text(const std::string& name, const std::string& from, const std::string& to,
                             const std::string& kind = "pcie") {
  return R"({"kind": ")" + kind + R"(", "down": "1 GB/s", "up": "1 GB/s", "name": ")" + name + R"(", "from": ")" +
         from + R"(", "to": ")" + to + "\"}";
}

inline std::string memory_text(const std::string& kind, const std::string& node, const std::string& rest = "") {
  return R"({"name": "my )" + node + R"(", "kind": ")" + kind + R"(", "node": ")" + node + R"(", "capacity": "1 GiB")" +
         rest + "}";
}

struct MachineRead {
  Machine machine;
  std::vector<std::string> errors;
};

// A TITAN V machine with `gpus` GPUs and other links and memories, from the file x.json.
inline MachineRead read_machine_of(int gpus, const std::vector<std::string>& links,
                                   const std::vector<std::string>& settings = {},
                                   const std::vector<std::string>& memories = {}) {
  const auto list = [](const std::vector<std::string>& items) {
    std::string text;
    for (const std::string& item : items) text += (text.empty() ? "" : ",") + item;
    return "[" + text + "]";
  };
  const std::string text = R"({"extends": "titan_v.json", "gpus": )" + std::to_string(gpus) + R"(, "links": )" +
                           list(links) + R"(, "memories": )" + list(memories) + "}";
  std::vector<InputError> errors;
  JsonValue document = load_json(
      "x.json",
      [&](const std::string& path) {
        return path == "x.json" ? std::optional(text) : read_file(UVMSIM_SOURCE_DIR "/configs/machines/" + path);
      },
      errors);
  for (const std::string& setting : settings) apply_setting(document, setting, errors);
  ResolvedConfig resolved;
  MachineRead r;
  r.machine = read_machine(&document, "/machine", errors, resolved);
  for (const InputError& error : errors) r.errors.push_back(error.place + ": " + error.message);
  return r;
}

}  // namespace uvmsim::test
