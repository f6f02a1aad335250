// Sections of a config that users write as a name: machine=a100_40gb, machine.gpu=l40s, workload=bert_large,
// policy=threshold_5.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/json_document.h"

namespace uvmsim {

// Whether `value`, as it stands behind `key`=, is a name, and not the section itself or a key inside it.
bool is_section_name(std::string_view key, std::string_view value);

// What `name` stands for as a value of `key`: a file, or the bundled one of that name in `configs_folder`; of a
// workload also a trace file or a generator. The section, and of a policy the keys that it sets. Files may extend
// bundled ones, whatever folder they are in. Appends errors, which name `option`; what is returned is meaningless then.
JsonValue named_section(const std::string& key, const std::string& name, const std::string& configs_folder,
                        const std::string& option, std::vector<InputError>& errors);

// Puts a named section into `document`: a policy's keys one by one, everything else in place of what is there.
void put_section(JsonValue& document, const std::string& key, const JsonValue& section, const std::string& option,
                 std::vector<InputError>& errors);

// apply_setting of base/json_document.h, for "machine=NAME", "workload=NAME" and "policy=NAME" as well.
void apply_setting(JsonValue& document, const std::string& setting, const std::string& configs_folder,
                   std::vector<InputError>& errors);

}  // namespace uvmsim
