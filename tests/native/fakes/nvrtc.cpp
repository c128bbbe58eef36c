// An NVRTC of CUDA 10.2, or of the major version in FAKE_NVRTC.
// The functions that are missing here are added as stubs (fake_libraries.py).
#include <cstdlib>

extern "C" {
int nvrtcVersion(int* major, int* minor) {
  const char* named = std::getenv("FAKE_NVRTC");
  *major = named ? std::atoi(named) : 10;
  *minor = 2;
  return 0;
}
const char* nvrtcGetErrorString(int) { return "NVRTC_ERROR"; }
}
