// What both parts of the façade that runs HIP on NVIDIA's libraries share: the CUDA driver underneath, and
// how a call is passed on to it.
#pragma once
#include <type_traits>
#include <vector>

#include "runtimes/cuda/driver.hpp"

namespace facade {

using byteways::Library;
using byteways::LibraryReport;
using byteways::cuda::CudaTable;

inline constexpr const char* kArchitecture = "gfx90a:sramecc+:xnack-";

struct Cuda : CudaTable {
  Cuda() {
    LibraryReport report;
    const Library library = Library::open({"libcuda.so.1"}, {}, "FACADE_LIBCUDA", {}, report);
    bind(library, report);
  }
  std::vector<CudaTable::Device> devices;
  std::vector<CudaTable::Context> contexts;  // primary, made at first use
};

inline Cuda& cuda() {
  static Cuda driver;
  return driver;
}

inline CudaTable::Device handle(int device) { return cuda().devices.at(static_cast<std::size_t>(device)); }

// What is a handle in one is one in the other; all else is the same.
template <class To, class From>
To as(From value) {
  if constexpr (std::is_convertible_v<From, To>)
    return value;
  else
    return reinterpret_cast<To>(value);
}

template <class... Parameters, class... Arguments>
int passed_on(const byteways::gpu::Function<int(Parameters...)>& function, Arguments... arguments) {
  return function(as<Parameters>(arguments)...);
}

}  // namespace facade

// A function that means the same in both, by the member of `table` that carries it out.
#define PASS_ON(symbol, table, member, parameters, ...) \
  int symbol parameters { return facade::passed_on((table).member __VA_OPT__(, ) __VA_ARGS__); }
