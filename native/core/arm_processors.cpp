// See arm_processors.hpp. Numbers: util-linux, sys-utils/lscpu-arm.c, and Linux,
// arch/arm64/include/asm/cputype.h.
#include "core/arm_processors.hpp"

#include <cstdlib>

namespace byteways {
namespace {

struct Designer {
  long number;
  const char* name;
};

struct Design {
  long designer, part;
  const char* name;
};

constexpr Designer kDesigners[] = {
    {0x41, "Arm"},    {0x42, "Broadcom"},  {0x43, "Cavium"},   {0x46, "Fujitsu"}, {0x48, "HiSilicon"},
    {0x4e, "NVIDIA"}, {0x50, "APM"},       {0x51, "Qualcomm"}, {0x53, "Samsung"}, {0x56, "Marvell"},
    {0x61, "Apple"},  {0x6d, "Microsoft"}, {0x70, "Phytium"},  {0xc0, "Ampere"},
};

constexpr Design kDesigns[] = {
    {0x41, 0xd02, "Cortex-A34"},
    {0x41, 0xd03, "Cortex-A53"},
    {0x41, 0xd04, "Cortex-A35"},
    {0x41, 0xd05, "Cortex-A55"},
    {0x41, 0xd06, "Cortex-A65"},
    {0x41, 0xd07, "Cortex-A57"},
    {0x41, 0xd08, "Cortex-A72"},
    {0x41, 0xd09, "Cortex-A73"},
    {0x41, 0xd0a, "Cortex-A75"},
    {0x41, 0xd0b, "Cortex-A76"},
    {0x41, 0xd0c, "Neoverse-N1"},
    {0x41, 0xd0d, "Cortex-A77"},
    {0x41, 0xd0e, "Cortex-A76AE"},
    {0x41, 0xd40, "Neoverse-V1"},
    {0x41, 0xd41, "Cortex-A78"},
    {0x41, 0xd42, "Cortex-A78AE"},
    {0x41, 0xd43, "Cortex-A65AE"},
    {0x41, 0xd44, "Cortex-X1"},
    {0x41, 0xd46, "Cortex-A510"},
    {0x41, 0xd47, "Cortex-A710"},
    {0x41, 0xd48, "Cortex-X2"},
    {0x41, 0xd49, "Neoverse-N2"},
    {0x41, 0xd4a, "Neoverse-E1"},
    {0x41, 0xd4b, "Cortex-A78C"},
    {0x41, 0xd4c, "Cortex-X1C"},
    {0x41, 0xd4d, "Cortex-A715"},
    {0x41, 0xd4e, "Cortex-X3"},
    {0x41, 0xd4f, "Neoverse-V2"},
    {0x41, 0xd80, "Cortex-A520"},
    {0x41, 0xd81, "Cortex-A720"},
    {0x41, 0xd82, "Cortex-X4"},
    {0x41, 0xd83, "Neoverse-V3AE"},
    {0x41, 0xd84, "Neoverse-V3"},
    {0x41, 0xd85, "Cortex-X925"},
    {0x41, 0xd87, "Cortex-A725"},
    {0x41, 0xd8e, "Neoverse-N3"},
    {0x42, 0x516, "ThunderX2"},
    {0x43, 0x0a1, "ThunderX"},
    {0x43, 0x0af, "ThunderX2"},
    {0x43, 0x0b8, "ThunderX3"},
    {0x46, 0x001, "A64FX"},
    {0x46, 0x003, "MONAKA"},
    {0x48, 0xd01, "Kunpeng-920 (TaiShan-v110)"},
    {0x48, 0xd02, "TaiShan-v120"},
    {0x4e, 0x000, "Denver"},
    {0x4e, 0x003, "Denver 2"},
    {0x4e, 0x004, "Carmel"},
    {0x4e, 0x010, "Olympus"},
    {0x50, 0x000, "X-Gene"},
    {0x51, 0x001, "Oryon"},
    {0x51, 0xc00, "Falkor"},
    {0x6d, 0xd49, "Azure Cobalt 100"},
    {0x70, 0x660, "FTC660"},
    {0x70, 0x661, "FTC661"},
    {0x70, 0x662, "FTC662"},
    {0x70, 0x663, "FTC663"},
    {0x70, 0x664, "FTC664"},
    {0x70, 0x862, "FTC862"},
    {0xc0, 0xac3, "AmpereOne (Ampere-1)"},
    {0xc0, 0xac4, "AmpereOne (Ampere-1a)"},
    {0xc0, 0xac5, "AmpereOne (Ampere-1b)"},
};

// Products of Amazon by design (Amazon EC2: Graviton2, Graviton3, Graviton4).
constexpr Design kGravitons[] = {
    {0x41, 0xd0c, "Graviton2"}, {0x41, 0xd40, "Graviton3"}, {0x41, 0xd4f, "Graviton4"}};
constexpr const char* kAmazon = "Amazon EC2";
// JEP106 bank and identification of NVIDIA, and number of its T241, the processor of Grace (Linux,
// drivers/irqchip/irq-gic-v3.c).
constexpr const char* kGrace = "jep106:036b:0241";

// Returns -1 for a text that is not a number.
long number(const std::string& text) {
  char* end = nullptr;
  const long value = std::strtol(text.c_str(), &end, 0);
  return text.empty() || *end != '\0' ? -1 : value;
}

}  // namespace

std::string arm_processor(const std::string& implementer, const std::string& part) {
  const long designer = number(implementer), design = number(part);
  if (designer < 0 || design < 0) return {};
  for (const Design& known : kDesigns)
    if (known.designer == designer && known.part == design) return known.name;
  for (const Designer& known : kDesigners)
    if (known.number == designer) return std::string(known.name) + " part " + part;
  return "Arm implementer " + implementer + " part " + part;
}

std::string arm_product(const std::string& processor, const std::string& soc_id, const std::string& vendor) {
  if (soc_id == kGrace) return "Grace";
  if (vendor != kAmazon) return {};
  for (const Design& known : kGravitons)
    for (const Design& core : kDesigns)
      if (core.designer == known.designer && core.part == known.part && processor == core.name)
        return known.name;
  return {};
}

}  // namespace byteways
