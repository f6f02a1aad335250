#include "cli/terminal.h"

#include <cstdlib>
#include <string_view>
#include <sys/ioctl.h>
#include <unistd.h>

namespace uvmsim {

bool wants_colour(int file) {
  const char* no_colour = std::getenv("NO_COLOR");  // no-color.org: set, and not empty
  const char* terminal = std::getenv("TERM");
  return isatty(file) != 0 && (no_colour == nullptr || *no_colour == '\0') &&
         (terminal == nullptr || std::string_view(terminal) != "dumb");
}

std::size_t terminal_columns(int file) {
  winsize size{};
  return ioctl(file, TIOCGWINSZ, &size) == 0 && size.ws_col > 0 ? size.ws_col : 100;
}

}  // namespace uvmsim
