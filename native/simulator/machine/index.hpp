// Indices of the model are int; those of the standard library are std::size_t.
#pragma once
#include <cstddef>

namespace byteways::sim {

inline std::size_t at(int index) { return static_cast<std::size_t>(index); }

}  // namespace byteways::sim
