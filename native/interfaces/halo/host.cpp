// The host's kernels of the halo exchange.
#include "interfaces/halo/loops.hpp"
#include "runtimes/host/host_kernels.hpp"

namespace byteways {
namespace {

void halo_stencil(const HaloArguments& a, const TeamMember& member) {
  const Share share = share_of(a.fields * a.height, 1, member);
  halo_stencil_rows(a, share.begin, share.end);
}

template <bool packs>
void halo_move(const HaloArguments& a, const TeamMember& member) {
  const Share share = share_of(a.fields * halo_rows(a), 1, member);
  halo_move_rows<packs>(a, share.begin, share.end);
}

void halo_boundary(const HaloArguments& a, const TeamMember& member) {
  const Share share = share_of(a.fields * halo_rows(a), 1, member);
  halo_boundary_rows(a, share.begin, share.end);
}

const RegisterHostKernel<halo_stencil> kHaloStencil("halo_stencil");
const RegisterHostKernel<halo_move<true>> kHaloPack("halo_pack");
const RegisterHostKernel<halo_move<false>> kHaloUnpack("halo_unpack");
const RegisterHostKernel<halo_boundary> kHaloBoundary("halo_boundary");

}  // namespace
}  // namespace byteways
