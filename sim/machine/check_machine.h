// What must hold of a machine's memories and paths even if each value is right by itself. Every function appends all
// the errors it finds.
#pragma once

#include <string>
#include <vector>

#include "base/json_document.h"
#include "machine/description.h"

namespace uvmsim {

// Where a machine section stands.
struct SectionPlace {
  const JsonValue* value = nullptr;
  std::string pointer;

  // The place of an error in a member, or in an element of one: {"links"}, {"memories", "0", "node"}.
  std::string of(const std::vector<std::string>& keys) const;
};

// The listed memories by themselves: names, capacities, and the ends of links that they are.
void check_listed_memories(const MachineSection& section, const SectionPlace& place, std::vector<InputError>& errors);

// All memories of a machine, those that the section leaves out too.
void check_memories(const Machine& machine, const SectionPlace& place, std::vector<InputError>& errors);

// Every GPU reaches every other one, and every memory but its own.
void check_reach(const Machine& machine, const SectionPlace& place, std::vector<InputError>& errors);

}  // namespace uvmsim
