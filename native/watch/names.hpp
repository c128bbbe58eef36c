// Numbers for names that bins refer to: methods, modules that call, details. 0 is no name.
#pragma once
#include <cstdint>
#include <string_view>

namespace byteways::watch {

inline constexpr std::uint16_t kMostNames = 4096;

// The number of a name, the same for the same text; 0 when all numbers are taken. The text is copied; nothing
// is allocated.
std::uint16_t number_of(std::string_view name) noexcept;

// The name of a number that was given; "" for 0.
std::string_view name_of(std::uint16_t number) noexcept;

}  // namespace byteways::watch
