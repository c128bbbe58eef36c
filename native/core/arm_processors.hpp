// Names of Arm processors: Linux gives only numbers of their designer and design (MIDR_EL1).
#pragma once
#include <string>

namespace byteways {

// Returns "Neoverse-V2" for 0x41 and 0xd4f; the numbers in words for an unknown design of a known or unknown
// designer; empty without numbers. The arguments are values of /proc/cpuinfo: "CPU implementer", "CPU part".
std::string arm_processor(const std::string& implementer, const std::string& part);

// Returns the product that uses the design in this system, "Grace", or empty. `soc_id` is that of Arm's SMC
// calling convention ("jep106:036b:0241"), `vendor` the system's in DMI.
std::string arm_product(const std::string& processor, const std::string& soc_id, const std::string& vendor);

}  // namespace byteways
