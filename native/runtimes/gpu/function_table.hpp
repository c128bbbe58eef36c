// The functions of a vendor's library as a table: an X-macro file (cuda/cuda.def) lists each with a neutral
// member name, its symbol, the version that introduced it and whether it is required. Declarations, loading
// and the output of `doctor` are generated from that list.
#pragma once
#include <string>

#include "core/error.hpp"
#include "runtimes/library.hpp"

namespace byteways::gpu {

template <class Signature>
class Function;

template <class Result, class... Arguments>
class Function<Result(Arguments...)> {
 public:
  explicit Function(const char* symbol) : symbol_(symbol) {}

  const char* symbol() const { return symbol_; }
  explicit operator bool() const { return pointer_ != nullptr; }
  Result operator()(Arguments... arguments) const {
    if (pointer_ == nullptr)
      throw Unsupported(symbol_, "missing", "the library that was found does not have this function");
    return pointer_(arguments...);
  }

  void bind(const Library& library, const char* introduced_in, bool required, LibraryReport& report) {
    pointer_ = reinterpret_cast<Result (*)(Arguments...)>(library.symbol(symbol_));
    if (pointer_ == nullptr) report.missing.push_back({symbol_, introduced_in, required});
  }

 private:
  const char* symbol_;
  Result (*pointer_)(Arguments...) = nullptr;
};

// Values of the requirement column.
inline constexpr bool required = true;
inline constexpr bool optional = false;

// Returns true if every required function is present; else records the missing ones.
inline bool complete(LibraryReport& report) {
  std::string names;
  for (const MissingFunction& function : report.missing) {
    if (!function.required) continue;
    names += (names.empty() ? "" : ", ") + function.name + " (since " + function.introduced_in + ")";
  }
  if (names.empty()) return true;
  report.reason = "found, but it lacks " + names;
  return false;
}

}  // namespace byteways::gpu

// Turns rows of a table into members, and into the body of bind().
#define BYTEWAYS_MEMBER(member, symbol, introduced_in, requirement, signature) \
  ::byteways::gpu::Function<signature> member{#symbol};
#define BYTEWAYS_BIND(member, symbol, introduced_in, requirement, signature) \
  member.bind(library, introduced_in, ::byteways::gpu::requirement, report);
