// An NVRTC of CUDA 10.2.
// The functions that are missing here are added as stubs (fake_libraries.py).
extern "C" {
int nvrtcVersion(int* major, int* minor) {
  *major = 10;
  *minor = 2;
  return 0;
}
const char* nvrtcGetErrorString(int) { return "NVRTC_ERROR"; }
}
