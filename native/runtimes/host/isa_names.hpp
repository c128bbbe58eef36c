// Names of the instruction sets (isa.hpp), which of them this processor has, and the compiler of their loops.
#pragma once
#include <string>
#include <string_view>
#include <vector>

#include "runtimes/host/isa.hpp"

namespace byteways {

std::string_view isa_name(IsaName isa);
// Those of this processor that loops were compiled for, the widest registers last.
std::vector<IsaName> host_isas();
// The one named, which must be among `available`; the last of them where no name is given. Throws
// Unsupported.
IsaName chosen_isa(std::string_view name, const std::vector<IsaName>& available);
// "gcc 12.2.0", "clang 19.1.7": two compilers may turn the same loop into different instructions.
std::string host_compiler();

}  // namespace byteways
