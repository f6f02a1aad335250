// What every member of a Machine means, its unit and its range: for reading, `explain` and the JSON Schema.
#pragma once

#include "base/describe.h"
#include "base/json_reader.h"
#include "machine/machine.h"

namespace uvmsim {

const Description& describe_fault_hardware();
const Description& describe_copy_engine();
const Description& describe_driver_costs();
const Description& describe_gpu();
const Description& describe_runtime_costs();
const Description& describe_host();
const Description& describe_link();
const Description& describe_memory_node();
const Description& describe_driver();

// The config's "machine" section: a number of identical GPUs, the host, and the links.
struct MachineSection {
  std::string name;
  int gpus = 1;
  std::string use;
  GpuSpec gpu;
  HostSpec host;
  std::vector<LinkSpec> links;
  std::vector<MemoryNode> memories;
  std::string peer_access = Machine{}.peer_access;
};
const Description& describe_machine();

// Reads a "machine" section and makes the Machine of its first `gpus` GPUs, or of those of them that `use` names, which
// are renumbered: links that end at an absent GPU and its
// memory are dropped, and so are switches without any GPU behind them. `driver` keeps its defaults. Host memory that
// `memories` leaves out is a memory node too.
//
// Appends errors for keys (see read_described), for links whose ends are no nodes, names used twice, a `gpus` beyond
// what the links connect, memories that hang on nothing or hold more than there is, and GPUs that do not reach each
// other or a memory by the paths of machine/link_tree.h.
Machine read_machine(const JsonValue* value, const std::string& pointer, std::vector<InputError>& errors,
                     ResolvedConfig& resolved);

}  // namespace uvmsim
