// sim/base/PLUG_INS.md: every kind of plug-in and every plug-in that the program has, from their own words.
#pragma once

#include <string>

namespace uvmsim {

std::string plug_in_page();

}  // namespace uvmsim
