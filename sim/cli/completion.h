// Shell completion, written from the commands there are.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "cli/command_tree.h"

namespace uvmsim {

// Words that may stand for an argument of that name, besides files: "config" -> names of bundled ones.
using ArgumentWords = std::map<std::string, std::vector<std::string>, std::less<>>;

// Scripts for the program that `root` describes; where each belongs is their first comment.
std::string bash_completion(const Command& root, const ArgumentWords& words);
std::string zsh_completion(const Command& root, const ArgumentWords& words);
std::string fish_completion(const Command& root, const ArgumentWords& words);

}  // namespace uvmsim
