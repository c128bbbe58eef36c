// Fills and checks words of the lattice (arguments.hpp). Nothing here is timed.
#pragma once
#include "interfaces/lattice/arguments.hpp"
#include "interfaces/pattern.hpp"

namespace byteways {

// Where words of the lattice are: fields of `width` words a row and `height` rows, whose first word has the
// factor `corner`.
struct Lattice {
  std::uint64_t width = 1, height = 1, fields = 1;
  std::uint64_t key = 0, corner = 1;
  std::uint64_t words() const { return width * height * fields; }
};

// Enqueued on the device's service stream; the caller synchronises.
void fill_lattice(Session& session, Device& by, std::byte* data, const Lattice& lattice);
// Compares every `stride`-th word; waits for the result.
CheckResult check_lattice(Session& session, Device& by, std::byte* data, const Lattice& lattice,
                          std::uint64_t stride = 1);

}  // namespace byteways
