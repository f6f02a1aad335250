// Numbers of a Result by name, as validation cases write them.
#pragma once

#include <string>
#include <string_view>
#include <variant>

#include "metrics/result.h"

namespace uvmsim {

// A number, or why there is none.
using NamedNumber = std::variant<double, std::string>;

// The number called `name`:
//   duration_s, reserved_bytes, ...    a member of the result; samples_per_s; outcome has none
//   h2d_bytes, fault_cpu_s, ...        a member of GPU 0's counts or of its time split
//   iteration_s[3]                     an element of GPU 0's lists
//   gpus[1].NAME                       the same of another GPU, its duration_s included
//   link["NAME OF THE LINK"].bytes     a member of one direction of a link
//   peak["gpu0"], mean["gpu0"]         what tensors under plans held of a memory; the mean of GPUs only
//   loaded_samples_per_s, ...          a member of LoadingRates
//   need_bytes, unplanned_bytes        the memory that a planner's plan needs, and an iteration without one
//   flops                              arithmetic of the kernels of an iteration
//   allocated_bytes                    of all tensors that an iteration makes, each with memory of its own
//   largest["batch"]                   the largest value of the generator's parameter with which the plan fits
//   largest_unplanned["batch"]         the same without a plan
NamedNumber number_named(std::string_view name, const Result& result);

// Whether `name` is one of the last six, which no simulation tells, and of these one of the two that the trace alone
// tells; and the parameter of a `largest`, else "".
bool is_of_trace(std::string_view name);
bool asks_for_need(std::string_view name);
std::string parameter_of_largest(std::string_view name);

// Whether `name` is a member of LoadingRates, which only loading itself tells.
bool asks_for_loading(std::string_view name);

// "" when some result has a number called `name`; else what is wrong, with the nearest name.
std::string error_of_name(std::string_view name);

}  // namespace uvmsim
