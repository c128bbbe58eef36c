// A hipRTC whose code objects are the options that it was given.
// The functions that are missing here are added as stubs (fake_libraries.py).
#include <cstdlib>
#include <cstring>
#include <string>
static std::string code;
extern "C" {
int hiprtcVersion(int* major, int* minor) {
  *major = 9;
  *minor = 0;
  return 0;
}
const char* hiprtcGetErrorString(int) { return "HIPRTC_ERROR_COMPILATION"; }
int hiprtcCreateProgram(void** program, const char*, const char*, int, const char* const*,
                        const char* const*) {
  *program = (void*)8;
  return 0;
}
int hiprtcCompileProgram(void*, int count, const char* const* options) {
  code.clear();
  for (int i = 0; i < count; ++i) code += std::string(options[i]) + " ";
  return getenv("FAKE_REFUSE") ? 6 : 0;
}
int hiprtcGetCodeSize(void*, unsigned long* bytes) {
  *bytes = code.size() + 1;
  return 0;
}
int hiprtcGetCode(void*, char* text) {
  strcpy(text, code.c_str());
  return 0;
}
int hiprtcGetProgramLogSize(void*, unsigned long* bytes) {
  *bytes = sizeof "no such target";
  return 0;
}
int hiprtcGetProgramLog(void*, char* text) {
  strcpy(text, "no such target");
  return 0;
}
}
