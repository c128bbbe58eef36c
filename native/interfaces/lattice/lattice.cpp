// See lattice.hpp.
#include "interfaces/lattice/lattice.hpp"

#include "runtimes/gpu/kernel_catalogue.hpp"

namespace byteways {
namespace {

void launch(Session& session, Device& by, const char* kernel, const LatticeArguments& arguments) {
  by.runtime->launch(by.ordinal, by.runtime->prepare(by.ordinal, kernel),
                     full_shape(by, kernel, arguments.count / arguments.stride), &arguments, sizeof arguments,
                     session.service_stream(by));
}

LatticeArguments arguments_of(std::byte* data, const Lattice& lattice, std::uint64_t stride,
                              CheckResult* result) {
  return {reinterpret_cast<unsigned long long*>(data),
          lattice.words(),
          lattice.width,
          lattice.height,
          lattice.key,
          lattice.corner,
          stride,
          result};
}

const gpu::RegisterKernels<LatticeArguments> kLatticeKernels("interfaces/lattice/kernel.cu",
                                                             {"lattice_fill", "lattice_check"});

}  // namespace

void fill_lattice(Session& session, Device& by, std::byte* data, const Lattice& lattice) {
  launch(session, by, "lattice_fill", arguments_of(data, lattice, 1, nullptr));
}

CheckResult check_lattice(Session& session, Device& by, std::byte* data, const Lattice& lattice,
                          std::uint64_t stride) {
  return found_by(session, by, [&](CheckResult* result) {
    launch(session, by, "lattice_check", arguments_of(data, lattice, stride, result));
  });
}

}  // namespace byteways
