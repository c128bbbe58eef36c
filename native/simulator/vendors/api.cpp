// See api.hpp.
#include "simulator/vendors/api.hpp"

#include <algorithm>
#include <cctype>
#include <charconv>
#include <cstdio>

#include "simulator/engine/thread_state.hpp"

namespace byteways::sim {
namespace {

// CUDA driver API, cuGetErrorString(); HIP, hipGetErrorString().
constexpr ErrorWords kWords[] = {
    {0, "CUDA_SUCCESS", "hipSuccess", "no error", "no error"},
    {code::kInvalidValue, "CUDA_ERROR_INVALID_VALUE", "hipErrorInvalidValue", "invalid argument",
     "invalid argument"},
    {code::kOutOfMemory, "CUDA_ERROR_OUT_OF_MEMORY", "hipErrorOutOfMemory", "out of memory", "out of memory"},
    {code::kNotInitialized, "CUDA_ERROR_NOT_INITIALIZED", "hipErrorNotInitialized", "initialization error",
     "initialization error"},
    {code::kNoDevice, "CUDA_ERROR_NO_DEVICE", "hipErrorNoDevice", "no CUDA-capable device is detected",
     "no ROCm-capable device is detected"},
    {code::kInvalidDevice, "CUDA_ERROR_INVALID_DEVICE", "hipErrorInvalidDevice", "invalid device ordinal",
     "invalid device ordinal"},
    {code::kInvalidImage, "CUDA_ERROR_INVALID_IMAGE", "hipErrorInvalidImage",
     "device kernel image is invalid", "device kernel image is invalid"},
    {code::kInvalidContext, "CUDA_ERROR_INVALID_CONTEXT", "hipErrorInvalidContext", "invalid device context",
     "invalid device context"},
    {code::kNoPeerAccess, "CUDA_ERROR_PEER_ACCESS_UNSUPPORTED", "hipErrorPeerAccessUnsupported",
     "peer access is not supported between these two devices",
     "peer access is not supported between these two devices"},
    {code::kInvalidHandle, "CUDA_ERROR_INVALID_HANDLE", "hipErrorInvalidHandle", "invalid resource handle",
     "invalid resource handle"},
    {code::kNotFound, "CUDA_ERROR_NOT_FOUND", "hipErrorNotFound", "named symbol not found",
     "named symbol not found"},
    {code::kNotReady, "CUDA_ERROR_NOT_READY", "hipErrorNotReady", "device not ready", "device not ready"},
    {code::kIllegalAddress, "CUDA_ERROR_ILLEGAL_ADDRESS", "hipErrorIllegalAddress",
     "an illegal memory access was encountered", "an illegal memory access was encountered"},
    {code::kPeerAccessEnabled, "CUDA_ERROR_PEER_ACCESS_ALREADY_ENABLED", "hipErrorPeerAccessAlreadyEnabled",
     "peer access is already enabled", "peer access is already enabled"},
    {code::kLaunchFailed, "CUDA_ERROR_LAUNCH_FAILED", "hipErrorLaunchFailure", "unspecified launch failure",
     "unspecified launch failure"},
    {code::kNotSupported, "CUDA_ERROR_NOT_SUPPORTED", "hipErrorNotSupported", "operation not supported",
     "operation not supported"},
    {code::kContextDestroyed, "CUDA_ERROR_CONTEXT_IS_DESTROYED", "hipErrorContextIsDestroyed",
     "context is destroyed", "context is destroyed"},
    {code::kCaptureUnsupported, "CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED", "hipErrorStreamCaptureUnsupported",
     "operation not permitted when stream is capturing", "operation not permitted when stream is capturing"},
    {code::kCaptureInvalidated, "CUDA_ERROR_STREAM_CAPTURE_INVALIDATED", "hipErrorStreamCaptureInvalidated",
     "operation failed due to a previous error during capture",
     "operation failed due to a previous error during capture"},
    {code::kUnknown, "CUDA_ERROR_UNKNOWN", "hipErrorUnknown", "unknown error", "unknown error"},
};

thread_local int code_of_sentence = 0;
thread_local std::string sentence;

// FNV-1a, 64 bits (Fowler, Noll, Vo).
std::uint64_t hash(std::string_view text) {
  std::uint64_t state = 0xCBF29CE484222325ull;
  for (unsigned char byte : text) state = (state ^ byte) * 0x100000001B3ull;
  return state;
}

std::string hexadecimal(std::uint64_t value) {
  char digits[17];
  std::snprintf(digits, sizeof digits, "%016llx", static_cast<unsigned long long>(value));
  return digits;
}

std::string_view trimmed(std::string_view text) {
  const auto blank = [](char letter) { return std::isspace(static_cast<unsigned char>(letter)) != 0; };
  while (!text.empty() && blank(text.front())) text.remove_prefix(1);
  while (!text.empty() && blank(text.back())) text.remove_suffix(1);
  return text;
}

}  // namespace

std::atomic<std::uint64_t> CountedCalls::made_{0}, CountedCalls::failing_{0};
std::atomic<int> CountedCalls::code_{0};

void CountedCalls::fail(std::uint64_t number, int code) {
  code_ = code;
  made_ = 0;
  failing_ = number;
}
std::uint64_t CountedCalls::made() { return made_; }

const ErrorWords* error_words(int code) {
  for (const ErrorWords& words : kWords)
    if (words.code == code) return &words;
  return nullptr;
}

int code_of(Code code) {
  switch (code) {
    case Code::invalid:
      return code::kInvalidValue;
    case Code::out_of_memory:
      return code::kOutOfMemory;
    case Code::no_device:
      return code::kNoDevice;
    case Code::no_peer_access:
      return code::kNoPeerAccess;
    case Code::already_enabled:
      return code::kPeerAccessEnabled;
    case Code::illegal_address:
      return code::kIllegalAddress;
    case Code::device_lost:  // how both vendors report a GPU that stopped responding
      return code::kLaunchFailed;
    case Code::not_supported:
      return code::kNotSupported;
    case Code::internal:
      break;
  }
  return code::kUnknown;
}

int keep_sentence(const Failure& failure) noexcept {
  const int code = forget_sentence(code_of(failure.code()));
  if (failure.code() != Code::not_supported && failure.code() != Code::internal) return code;
  try {
    const ErrorWords* words = error_words(code);
    if (words == nullptr) return code;
    sentence = words->cuda_text;
    sentence.append(": ").append(failure.what());
    code_of_sentence = code;
  } catch (...) {  // no memory for the text: the code is sufficient
  }
  return code;
}
int forget_sentence(int code) noexcept {
  code_of_sentence = 0;
  return code;
}
const char* text_of(int code, const char* vendor_text) {
  return code != 0 && code == code_of_sentence ? sentence.c_str() : vendor_text;
}

void write_text(std::string_view text, char* to, std::size_t room) {
  if (to == nullptr || room == 0) throw Refusal{code::kInvalidValue};
  to[text.copy(to, room - 1)] = '\0';
}

World& world_of(std::string_view vendor) {
  World& world = World::get();
  require(world.model().vendor == vendor && world.model().gpu.count > 0, code::kNoDevice);
  return world;
}

std::uint64_t unique_id(const Model& model, int gpu) {
  return hash(model.name + " gpu" + std::to_string(gpu));
}

Uuid nvidia_uuid(const Model& model, int gpu) {
  Uuid uuid{};
  const std::string digits = hexadecimal(unique_id(model, gpu)) + hexadecimal(hash(model.name));
  for (int i = 0; i < 16; ++i)
    std::from_chars(digits.data() + 2 * i, digits.data() + 2 * i + 2, uuid.bytes[i], 16);
  return uuid;
}

std::string nvidia_uuid_text(const Model& model, int gpu) {
  std::string digits = hexadecimal(unique_id(model, gpu)) + hexadecimal(hash(model.name));
  for (std::size_t at : {20, 16, 12, 8}) digits.insert(at, 1, '-');
  return "GPU-" + digits;
}

std::string amd_uuid_text(const Model& model, int gpu) { return "GPU-" + hexadecimal(unique_id(model, gpu)); }

std::vector<int> choose_visible(const std::vector<int>& gpus, std::string_view list,
                                const std::function<std::string(int)>& uuid) {
  std::vector<int> chosen;
  while (!list.empty()) {
    const std::size_t comma = list.find(',');
    const std::string_view entry = trimmed(list.substr(0, comma));
    list = comma == std::string_view::npos ? std::string_view() : list.substr(comma + 1);
    std::vector<int> matches;
    int index = 0;
    const auto [end, error] = std::from_chars(entry.data(), entry.data() + entry.size(), index);
    if (!entry.empty() && error == std::errc() && end == entry.data() + entry.size()) {
      if (index >= 0 && index < static_cast<int>(gpus.size()))
        matches.push_back(gpus[static_cast<std::size_t>(index)]);
    } else {
      std::copy_if(gpus.begin(), gpus.end(), std::back_inserter(matches),
                   [&](int gpu) { return !entry.empty() && uuid(gpu).starts_with(entry); });
    }
    if (matches.size() != 1 || std::find(chosen.begin(), chosen.end(), matches[0]) != chosen.end()) break;
    chosen.push_back(matches[0]);
  }
  return chosen;
}

int domain_of(const Model& model, int gpu) {
  const auto index = static_cast<std::size_t>(gpu);
  return index < model.gpu.domains.size() ? model.gpu.domains[index] : 0;
}

int thread_domain() { return this_thread().policy_domain; }
void set_thread_domain(int domain) { this_thread().policy_domain = domain; }

int host_domain(const Model& model, int gpu) {
  return thread_domain() >= 0 ? thread_domain() : domain_of(model, gpu);
}

}  // namespace byteways::sim
