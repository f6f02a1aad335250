#include "engine/network.h"

#include <dlfcn.h>
#include <stdexcept>

#include "base/check.h"

namespace uvmsim {
namespace {

using Make = Network& (*)();

// Searched for where the program was linked to search (CMAKE_BUILD_RPATH, CMAKE_INSTALL_RPATH).
Make library() {
  static const Make make = [] {
    void* const handle = dlopen("libuvmsim_simgrid.so", RTLD_NOW | RTLD_LOCAL);
    void* const symbol = handle == nullptr ? nullptr : dlsym(handle, "uvmsim_make_network");
    if (symbol == nullptr) throw std::runtime_error(std::string("cannot open SimGrid: ") + dlerror());
    return reinterpret_cast<Make>(symbol);
  }();
  return make;
}

}  // namespace

void open_network_library() { library(); }

Network& make_network() {
  static bool made = false;
  UVMSIM_CHECK(!made, "one simulation per process: SimGrid's engine keeps its clock");
  made = true;
  return library()();
}

}  // namespace uvmsim
