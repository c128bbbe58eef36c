// An NVML of one GPU with two NVLinks, the second of them down.
// The functions that are missing here are added as stubs (fake_libraries.py).
#include <cstring>
struct Pci {
  char legacy[16];
  unsigned domain, bus, device, id, subsystem;
  char address[32];
};
struct Field {
  unsigned field, scope;
  long long a, b;
  int type, status;
  union {
    double d;
    unsigned u;
    long long l;
  } v;
};
extern "C" {
const char* nvmlErrorString(int code) { return code == 6 ? "Not Found" : "an error"; }
int nvmlSystemGetDriverVersion(char* text, unsigned) {
  strcpy(text, "580.1");
  return 0;
}
int nvmlDeviceGetCount_v2(unsigned* count) {
  *count = 1;
  return 0;
}
int nvmlDeviceGetHandleByIndex_v2(unsigned, void** device) {
  *device = (void*)8;
  return 0;
}
int nvmlDeviceGetHandleByUUID(const char* uuid, void** device) {
  *device = (void*)8;
  return strcmp(uuid, "GPU-1") ? 6 : 0;
}
int nvmlDeviceGetName(void*, char* text, unsigned) {
  strcpy(text, "Fake GPU");
  return 0;
}
int nvmlDeviceGetUUID(void*, char* text, unsigned) {
  strcpy(text, "GPU-1");
  return 0;
}
int nvmlDeviceGetPciInfo_v3(void*, Pci* pci) {
  pci->domain = 1;
  pci->bus = 0x3b;
  pci->device = 2;
  return 0;
}
struct Process {
  unsigned pid;
  unsigned long long memory;
  unsigned gpu_instance, compute_instance;
};
int nvmlDeviceGetComputeRunningProcesses_v3(void*, unsigned* count, Process* room) {
  const unsigned had = *count;
  *count = 2;
  if (had < 2) return 7;
  room[0] = {4711, 3ull << 30, ~0u, ~0u};
  room[1] = {4712, ~0ull, ~0u, ~0u};
  return 0;
}
int nvmlDeviceGetGraphicsRunningProcesses_v3(void*, unsigned* count, void*) {
  *count = 0;
  return 0;
}
int nvmlDeviceGetUtilizationRates(void*, unsigned* percent) {
  percent[0] = 97;
  percent[1] = 40;
  return 0;
}
int nvmlDeviceGetComputeMode(void*, int* mode) {
  *mode = 3;
  return 0;
}
int nvmlDeviceGetNvLinkState(void*, unsigned link, int* state) {
  *state = link == 0;
  return link < 2 ? 0 : 2;
}
int nvmlDeviceGetNvLinkVersion(void*, unsigned, unsigned* version) {
  *version = 6;
  return 0;
}
int nvmlDeviceGetNvLinkRemoteDeviceType(void*, unsigned, int* kind) {
  *kind = 2;
  return 0;
}
int nvmlDeviceGetNvLinkRemotePciInfo_v2(void*, unsigned, Pci* pci) {
  pci->domain = 0;
  pci->bus = 5;
  pci->device = 0;
  return 0;
}
int nvmlDeviceGetClockInfo(void*, int, unsigned*) { return 3; }
int nvmlDeviceGetPowerUsage(void*, unsigned* power) {
  *power = 700000;
  return 0;
}
static void answer(Field* f) {
  f->type = 3;
  f->status = 0;
  switch (f->field) {
    case 164:
      f->type = 1;
      f->v.u = 26562;
      break;
    case 52:
      f->v.l = 5;
      break;
    case 59:
      f->v.l = 2;
      break;
    case 138:
      f->v.l = 3;
      break;
    case 197:
      f->v.l = 1 << 20;
      break;
    default:
      f->status = 3;
  }
}
int nvmlDeviceGetFieldValues(void*, int count, Field* fields) {
  for (int k = 0; k < count; ++k) answer(fields + k);
  return 0;
}
}
