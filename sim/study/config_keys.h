// Every key a config may have, with what is known about it.
#pragma once

#include <string>
#include <vector>

#include "base/describe.h"

namespace uvmsim {

// One leaf: "machine.gpu.driver_costs.batch", "workload.batch". Elements of lists are numbered: in
// "machine.links.0.down" the 0 stands for any.
struct ConfigKey {
  std::string key;
  std::string plug_in;       // whose parameter it is, or ""
  FieldInfo field;           // its name, kind, doc, unit and range
  std::string default_json;  // "" when the key must be written
};

// All leaves, in the order of the sections machine, driver, workload, run, plan, data. A key that several plug-ins of a
// kind have stands there once for each.
std::vector<ConfigKey> config_keys();

// The shortest key whose last part is `name`, or has much of it in common: "machine.gpus" for "num_gpus". "": there is
// none.
std::string key_named_like(const std::string& name);

}  // namespace uvmsim
