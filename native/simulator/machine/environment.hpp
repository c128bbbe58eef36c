// Variables of the process that simulated libraries read, as the real ones do.
#pragma once
#include <strings.h>

#include <cstdint>
#include <cstdlib>
#include <sstream>
#include <string>

namespace byteways::sim {

// A number from the environment, or the default if unset or invalid.
inline std::uint64_t number_of_variable(const char* variable, std::uint64_t otherwise) {
  const char* text = std::getenv(variable);
  if (text == nullptr || *text == '\0') return otherwise;
  char* end = nullptr;
  const unsigned long long value = std::strtoull(text, &end, 10);
  return *end == '\0' ? value : otherwise;
}

// Whether a list of names such as "Ring,Tree" contains one, in either case; with a leading '^', whether it
// does not. `otherwise`: if the variable is unset.
inline bool allowed_by_variable(const char* variable, const char* name, bool otherwise = true) {
  const char* text = std::getenv(variable);
  if (text == nullptr || *text == '\0') return otherwise;
  const bool excludes = *text == '^';
  std::istringstream list(text + (excludes ? 1 : 0));
  for (std::string each; std::getline(list, each, ',');)
    if (strcasecmp(each.c_str(), name) == 0) return !excludes;
  return excludes;
}

}  // namespace byteways::sim
