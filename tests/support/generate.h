// Traces of generators, with parameters written as in a config.
#pragma once

#include <gtest/gtest.h>
#include <memory>
#include <string>
#include <vector>

#include "base/json_reader.h"
#include "workload/generator.h"

namespace uvmsim {

// The generator `name` with these parameters: the members of a JSON object.
inline std::unique_ptr<Generator> make_generator(const std::string& name, const std::string& parameters = "{}") {
  std::unique_ptr<Generator> generator = generators().find(name)->make();
  std::vector<InputError> errors;
  ResolvedConfig resolved;
  const JsonValue json = parse_json(parameters, "test", errors);
  const DescribedObject part = generator->parameters();
  read_described(&json, "", {&part, 1}, errors, resolved);
  for (const InputError& error : errors) ADD_FAILURE() << error.place << ": " << error.message;
  return generator;
}

inline trace::Trace generate(const std::string& name, const std::string& parameters, int iterations) {
  return make_generator(name, parameters)->generate(iterations);
}

// The records of one kind, in order.
template <class T>
std::vector<T> records_of(const trace::Trace& trace) {
  std::vector<T> found;
  for (const trace::Record& record : trace.records)
    if (const T* one = std::get_if<T>(&record)) found.push_back(*one);
  return found;
}

}  // namespace uvmsim
