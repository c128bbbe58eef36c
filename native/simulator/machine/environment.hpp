// Variables of the process that simulated libraries read, as the real ones do.
#pragma once
#include <cstdint>
#include <cstdlib>

namespace byteways::sim {

// A number from the environment, or the default if unset or invalid.
inline std::uint64_t number_of_variable(const char* variable, std::uint64_t otherwise) {
  const char* text = std::getenv(variable);
  if (text == nullptr || *text == '\0') return otherwise;
  char* end = nullptr;
  const unsigned long long value = std::strtoull(text, &end, 10);
  return *end == '\0' ? value : otherwise;
}

}  // namespace byteways::sim
