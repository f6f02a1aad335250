#include "workload/generator.h"

namespace uvmsim {

GeneratorRegistry& generators() {
  static GeneratorRegistry registry;
  return registry;
}

}  // namespace uvmsim
