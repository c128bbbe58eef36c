// See isa.hpp and isa_names.hpp.
#include <cstdlib>

#include "core/error.hpp"
#include "runtimes/host/isa_names.hpp"

namespace byteways {
namespace {

constexpr const char* kSetting = "BYTEWAYS_ISA";

}  // namespace

std::string_view isa_name(IsaName isa) {
  switch (isa) {
    case IsaName::sse2:
      return "sse2";
    case IsaName::avx2:
      return "avx2";
    case IsaName::avx512:
      return "avx512";
    case IsaName::neon:
      return "neon";
    case IsaName::generic:
      break;
  }
  return "generic";
}

std::vector<IsaName> host_isas() {
#if defined(__x86_64__)
  std::vector<IsaName> available{IsaName::sse2};
  if (__builtin_cpu_supports("avx2")) available.push_back(IsaName::avx2);
  if (__builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512vl"))
    available.push_back(IsaName::avx512);
  return available;
#elif defined(__aarch64__)
  return {IsaName::neon};
#else
  return {IsaName::generic};
#endif
}

IsaName chosen_isa(std::string_view name, const std::vector<IsaName>& available) {
  if (name.empty()) return available.back();
  std::string names;
  for (const IsaName isa : available) {
    if (isa_name(isa) == name) return isa;
    names += (names.empty() ? "" : ", ") + std::string(isa_name(isa));
  }
  throw Unsupported(kSetting, std::string(name), "this processor offers " + names);
}

IsaName host_isa() {
  static const IsaName chosen = [] {
    const char* name = std::getenv(kSetting);
    return chosen_isa(name == nullptr ? "" : name, host_isas());
  }();
  return chosen;
}

std::string host_compiler() {
#if defined(__clang__)
  return "clang " + std::to_string(__clang_major__) + "." + std::to_string(__clang_minor__) + "." +
         std::to_string(__clang_patchlevel__);
#elif defined(__GNUC__)
  return "gcc " + std::to_string(__GNUC__) + "." + std::to_string(__GNUC_MINOR__) + "." +
         std::to_string(__GNUC_PATCHLEVEL__);
#else
  return "unknown";
#endif
}

}  // namespace byteways
