// Device kernels on the simulated machine. Compiling a source finds the kernels in it and their launch
// bounds; the image lists them; loading it returns handles of the simulated kernels with these names.
#pragma once
#include <cstddef>
#include <map>
#include <optional>
#include <string>

namespace byteways::sim {

struct KernelEntry {
  std::string name;
  int most_threads = 0;  // launch bound, as the source has it
  std::size_t argument_bytes = 0;
  std::size_t most_shared_bytes = 48 << 10;  // dynamic, before a kernel opts in to more (CUDA)
};

// Owned by the simulator until the process ends, because the function tables have no unload function.
struct KernelModule {
  std::map<std::string, KernelEntry> kernels;
};

// Returns the image for load_image(); no value if the source defines no kernel.
std::optional<std::string> compile_image(const std::string& source);
// Returns nullptr if it is neither an image of compile_image() nor PTX with kernels.
KernelModule* load_image(const char* image);

// Returns how many blocks of `threads` threads and `shared` bytes are resident on a multiprocessor with
// `most_shared` bytes. It holds 2048 threads and 32 blocks on compute capabilities 7.0, 8.0, 9.0 and 10.0
// (CUDA C++ programming guide, technical specifications) and on CDNA, 4 units of 8 wavefronts of 64.
int resident_blocks(int threads, std::size_t shared, std::size_t most_shared);

}  // namespace byteways::sim
