// What each measured value is used for: by cases, as an input, or not at all and why.
#pragma once

#include <string>
#include <vector>

#include "study/validation/case_family.h"

namespace uvmsim {

// An entry of validation/uses.json.
struct DeclaredUse {
  bool excluded = false;              // else an input: a quantity the simulator is told, such as an in-core time
  std::vector<std::string> ids = {};  // of Measurements; '*' stands for any characters
  std::string reason = {};
};

// Reads `path`. Throws UserError with every fault.
std::vector<DeclaredUse> read_uses(const std::string& path, const FileLoader& load);

// What one measurement is used for.
struct MeasurementUse {
  const Measurement* of = nullptr;
  std::vector<const CaseFamily*> families = {};   // each once
  std::vector<const DeclaredUse*> declared = {};  // each once

  // By one role's families, or by one entry of uses.json, and not by both.
  bool once() const;
};

// In the order of `measurements`.
std::vector<MeasurementUse> uses_of(const std::vector<Measurement>& measurements,
                                    const std::vector<CaseFamily>& families, const std::vector<DeclaredUse>& declared);

// Whether `id` is what `pattern` means.
bool matches_id(std::string_view pattern, std::string_view id);

}  // namespace uvmsim
