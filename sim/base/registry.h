// Plug-ins register themselves by name: adding a policy or a generator is adding one file.
#pragma once

#include <functional>
#include <map>
#include <string>
#include <vector>

#include "base/check.h"

namespace uvmsim {

// The plug-ins of one kind, by name. `Make` is the factory's signature.
template <class Make>
class Registry {
 public:
  struct Entry {
    std::string name;
    std::string summary;  // one line, shown by `uvmsim list`
    std::string source;   // driver file and function, paper section, or data set
    std::function<Make> make;
  };

  bool add(Entry entry) {
    const std::string name = entry.name;
    UVMSIM_CHECK(entries_.emplace(name, std::move(entry)).second, "two plug-ins share a name");
    return true;
  }
  const Entry* find(const std::string& name) const {
    const auto it = entries_.find(name);
    return it == entries_.end() ? nullptr : &it->second;
  }
  std::vector<std::string> names() const {
    std::vector<std::string> names;
    for (const auto& [name, entry] : entries_) names.push_back(name);
    return names;
  }
  const std::map<std::string, Entry>& entries() const { return entries_; }

 private:
  std::map<std::string, Entry> entries_;
};

}  // namespace uvmsim
