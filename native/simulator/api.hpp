// What the entry points of every vendor have in common: how a row of a function table becomes an exported C
// function, how failures become codes, and which GPU a handle, a thread or a variable of the environment
// means.
//
// Entry points call what is declared here and never each other: a vendor's real library that is loaded
// globally would otherwise catch the simulator's own calls.
#pragma once
#include <cstdint>
#include <functional>
#include <new>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

#include "simulator/world.hpp"

#define BYTEWAYS_EXPORTED __attribute__((visibility("default")))

// Inside extern "C": declares the row's symbol with the row's signature, so that a definition that differs
// does not compile. Types are looked up where the table is included.
#define BYTEWAYS_ENTRY_POINT(member, symbol, introduced_in, requirement, signature) \
  BYTEWAYS_EXPORTED std::type_identity_t<signature> symbol;

// The row's address, in a list that is kept: a row without a definition does not link.
#define BYTEWAYS_ENTRY_ADDRESS(member, symbol, introduced_in, requirement, signature) \
  reinterpret_cast<void (*)()>(&symbol),

namespace byteways::sim {

// Codes that both vendors' runtimes number alike (driver API reference; HIP's hipError_t follows it).
namespace code {
inline constexpr int kInvalidValue = 1, kOutOfMemory = 2, kNotInitialized = 3, kNoDevice = 100,
                     kInvalidDevice = 101, kInvalidImage = 200, kInvalidContext = 201, kNoPeerAccess = 217,
                     kInvalidHandle = 400, kNotFound = 500, kNotReady = 600, kIllegalAddress = 700,
                     kPeerAccessEnabled = 704, kLaunchFailed = 719, kNotSupported = 801, kUnknown = 999;
}

// How a vendor calls a code, and what it says of it.
struct ErrorWords {
  int code;
  const char *cuda, *hip, *cuda_text, *hip_text;
};
const ErrorWords* error_words(int code);  // nullptr: no such code

int code_of(Code code);
// The code of a failure. The sentence of one that tells of the simulation, not of the machine that is played,
// is kept for text_of().
int keep_sentence(const Failure& failure) noexcept;
// Forgets the sentence that was kept, and answers the code.
int forget_sentence(int code) noexcept;
// What the vendor says of a code, with the sentence that this thread's last failure left for it.
const char* text_of(int code, const char* vendor_text);

// A code that no Failure stands for; thrown inside answer().
struct Refusal {
  int code;
};

// Runs the body of a vendor's entry point. What it throws becomes the vendor's code.
template <class Body>
int answer(Body body) noexcept {
  try {
    body();
    return 0;
  } catch (const Refusal& refusal) {
    return forget_sentence(refusal.code);
  } catch (const Failure& failure) {
    return keep_sentence(failure);
  } catch (const std::bad_alloc&) {
    return code::kOutOfMemory;
  } catch (...) {
    return code::kUnknown;
  }
}

inline void require(bool condition, int code) {
  if (!condition) throw Refusal{code};
}

// Writes an answer where the caller wants it.
template <class Value>
void give(Value* to, Value value) {
  require(to != nullptr, code::kInvalidValue);
  *to = value;
}
// Writes `text` and a final zero, cut off where the room ends.
void write_text(std::string_view text, char* to, std::size_t room);

// The machine, when its GPUs are this vendor's. Throws Refusal (no device).
World& world_of(std::string_view vendor);

// A number of 64 bits that tells this GPU from all others, the same in every process.
std::uint64_t unique_id(const Model& model, int gpu);
// As nvidia-smi prints it: "GPU-" and five groups.
struct Uuid {
  unsigned char bytes[16];
};
Uuid nvidia_uuid(const Model& model, int gpu);
std::string nvidia_uuid_text(const Model& model, int gpu);
// As rocminfo prints it: "GPU-" and 16 digits; its bytes are the digits.
std::string amd_uuid_text(const Model& model, int gpu);

// What a list of indices and beginnings of UUIDs leaves of `gpus`, in its order. The first entry that names
// nothing, or a GPU again, ends it (CUDA C++ programming guide, CUDA_VISIBLE_DEVICES; HIP does the same).
std::vector<int> choose_visible(const std::vector<int>& gpus, std::string_view list,
                                const std::function<std::string(int)>& uuid);

// Nearest NUMA domain of a GPU.
int domain_of(const Model& model, int gpu);
// Where this thread wants host memory, -1: nowhere in particular.
int thread_domain();
void set_thread_domain(int domain);
// The domain that host memory comes from which a thread allocates for a GPU: the thread's own, else the one
// beside the GPU.
int host_domain(const Model& model, int gpu);

}  // namespace byteways::sim
