// Registers the device kernels that every measurement uses.
#include "interfaces/service/arguments.hpp"
#include "runtimes/gpu/kernel_catalogue.hpp"

namespace byteways {
namespace {

const gpu::RegisterKernels<GateArguments> kGate("interfaces/service/gate.cu", {"gate"});
const gpu::RegisterKernels<IdleArguments> kIdle("interfaces/service/idle.cu", {"idle"});
const gpu::RegisterKernels<OccupyArguments> kOccupy("interfaces/service/occupy.cu", {"occupy"});
const gpu::RegisterKernels<PatternArguments> kPattern("interfaces/service/pattern.cu",
                                                      {"fill", "poison", "check"});

}  // namespace
}  // namespace byteways
