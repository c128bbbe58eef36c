// See site.hpp.
#include "watch/site.hpp"

#include <dlfcn.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <climits>
#include <iterator>
#include <string_view>

#include "watch/names.hpp"

namespace byteways::watch {
namespace {

// Addresses of a process have 47 or 48 bits: one word has the address and the number, so that no lock is
// needed. The last of two addresses in one place is remembered.
constexpr std::size_t kPlaces = 4096;
constexpr unsigned kNumberBits = 16;
constinit std::atomic<std::uint64_t> remembered[kPlaces]{};

std::string_view last_part(std::string_view path) {
  const auto slash = path.rfind('/');
  return slash == std::string_view::npos ? path : path.substr(slash + 1);
}

std::uint16_t looked_up(const void* address) {
  Dl_info found{};
  if (dladdr(address, &found) == 0 || found.dli_fname == nullptr) return 0;
  // The executable is named as its caller wrote it, which may be anything.
  const std::string_view name = last_part(found.dli_fname);
  if (name.find(".so") == std::string_view::npos) {
    char path[PATH_MAX];
    const auto length = readlink("/proc/self/exe", path, sizeof path);
    if (length > 0) return number_of(last_part({path, static_cast<std::size_t>(length)}));
  }
  return number_of(name);
}

}  // namespace

std::uint16_t site_of(const void* address) noexcept {
  const auto number = reinterpret_cast<std::uintptr_t>(address);
  auto& place = remembered[(number >> 2) % kPlaces];
  const std::uint64_t word = place.load(std::memory_order_relaxed);
  if (word >> kNumberBits == number && word != 0) return static_cast<std::uint16_t>(word);
  const std::uint16_t site = looked_up(address);
  place.store(static_cast<std::uint64_t>(number) << kNumberBits | site, std::memory_order_relaxed);
  return site;
}

bool is_ours(std::uint16_t site) noexcept {
  return name_of(site).find("byteways_watch") != std::string_view::npos;
}

bool is_of_driver(std::uint16_t site) noexcept {
  constexpr std::string_view kFiles[] = {"libcuda.so",     "libcupti.so",      "libnvidia-",
                                         "libamdhip64.so", "libhsa-runtime64", "librocprofiler",
                                         "libamd_comgr.so"};
  const std::string_view name = name_of(site);
  return std::any_of(std::begin(kFiles), std::end(kFiles),
                     [name](std::string_view file) { return name.starts_with(file); });
}

}  // namespace byteways::watch
