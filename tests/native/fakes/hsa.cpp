// An HSA runtime with one CPU, and GPUs on the PCI buses that FAKE_HSA_GPUS lists ("193,198"). FAKE_HSA_INIT
// is what hsa_init answers, FAKE_HSA_MASK which engines there are.
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <vector>
struct Handle {
  std::uint64_t handle;
};
static long number(const char* variable, long otherwise) {
  const char* text = std::getenv(variable);
  return text == nullptr ? otherwise : std::strtol(text, nullptr, 0);
}
static std::vector<std::uint32_t> buses() {
  std::vector<std::uint32_t> found;
  for (char* at = std::getenv("FAKE_HSA_GPUS"); at != nullptr && *at != '\0'; at += *at == ',')
    found.push_back(static_cast<std::uint32_t>(std::strtoul(at, &at, 10)));
  return found;
}
extern "C" {
int hsa_init() { return static_cast<int>(number("FAKE_HSA_INIT", 0)); }
int hsa_status_string(int, const char** text) {
  *text = "as HSA words it";
  return 0;
}
int hsa_system_get_info(int, void* value) {
  const std::uint16_t one = 1;
  std::memcpy(value, &one, sizeof one);
  return 0;
}
int hsa_iterate_agents(int (*visit)(Handle, void*), void* data) {
  for (std::uint64_t handle = 0; handle <= buses().size(); ++handle) visit({handle}, data);
  return 0;
}
int hsa_agent_get_info(Handle device, int what, void* value) {
  const bool gpu = device.handle != 0;
  const std::uint32_t answer = what == 17 ? gpu : what == 0xA006 ? buses().at(device.handle - 1) << 8 : 0;
  std::memcpy(value, &answer, sizeof answer);
  return 0;
}
int hsa_amd_memory_copy_engine_status(Handle, Handle, std::uint32_t* mask) {
  *mask = static_cast<std::uint32_t>(number("FAKE_HSA_MASK", 6));
  return *mask == 0 ? 0x1008 : 0;
}
}
