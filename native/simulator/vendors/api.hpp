// Common parts of the entry points of all vendors: exports the rows of a function table as C functions, maps
// failures to error codes, and resolves handles, threads and environment variables to GPUs.
//
// Entry points call what is declared here and never each other: a vendor's real library that is loaded
// globally would otherwise catch the simulator's own calls.
#pragma once
#include <atomic>
#include <cstdint>
#include <functional>
#include <new>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

#include "simulator/machine/world.hpp"

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
                     kPeerAccessEnabled = 704, kLaunchFailed = 719, kNotSupported = 801,
                     kContextDestroyed = 709, kCaptureUnsupported = 900, kCaptureInvalidated = 901,
                     kUnknown = 999;
}

// A vendor's name and message of an error code.
struct ErrorWords {
  int code;
  const char *cuda, *hip, *cuda_text, *hip_text;
};
const ErrorWords* error_words(int code);  // nullptr: no such code

int code_of(Code code);
// Returns the code of a failure. If the failure concerns the simulation and not the simulated machine, its
// message is kept for text_of().
int keep_sentence(const Failure& failure) noexcept;
// Discards the kept message and returns the code.
int forget_sentence(int code) noexcept;
// Returns the vendor's message of a code, with the message kept from this thread's last failure.
const char* text_of(int code, const char* vendor_text);

// A code without a corresponding Failure; thrown inside answer().
struct Refusal {
  int code;
};

// Every call of a vendor's function is counted, and one that is chosen fails without having done anything.
class CountedCalls {
 public:
  // The `number`-th from now on fails with this code; 0: none.
  static void fail(std::uint64_t number, int code);
  static std::uint64_t made();  // since then
  // The code with which the call fails that begins now; 0: it does not.
  static int next() noexcept {
    const std::uint64_t number = made_.fetch_add(1, std::memory_order_relaxed) + 1;
    return number == failing_.load(std::memory_order_relaxed) ? code_.load(std::memory_order_relaxed) : 0;
  }

 private:
  static std::atomic<std::uint64_t> made_, failing_;
  static std::atomic<int> code_;
};

// Runs the body of a vendor's entry point and maps exceptions to the vendor's error codes.
template <class Body>
int answer(Body body) noexcept {
  if (const int code = CountedCalls::next()) return forget_sentence(code);
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

// Writes a result to the address given by the caller.
template <class Value>
void give(Value* to, Value value) {
  require(to != nullptr, code::kInvalidValue);
  *to = value;
}
// Writes `text` and a final zero, truncated to `room` bytes.
void write_text(std::string_view text, char* to, std::size_t room);

// Returns the machine if its GPUs are this vendor's. Throws Refusal (no device).
World& world_of(std::string_view vendor);

// The rate of a GPU's memory is the product of clock and width; the model has the rate only. With 100 bytes a
// transfer every rate that is a multiple of 200 kB/s makes a whole number of kHz.
inline constexpr int kMemoryBusBytes = 100;

// Returns a unique 64-bit number of the GPU, the same in every process.
std::uint64_t unique_id(const Model& model, int gpu);
// As nvidia-smi prints it: "GPU-" and five groups.
struct Uuid {
  unsigned char bytes[16];
};
Uuid nvidia_uuid(const Model& model, int gpu);
std::string nvidia_uuid_text(const Model& model, int gpu);
// As rocminfo prints it: "GPU-" and 16 digits; its bytes are the digits.
std::string amd_uuid_text(const Model& model, int gpu);

// Returns the GPUs that a list of indices and UUID prefixes selects from `gpus`, in the order of the list.
// The first entry that matches no GPU, or a GPU again, ends the list (CUDA C++ programming guide,
// CUDA_VISIBLE_DEVICES; HIP does the same).
std::vector<int> choose_visible(const std::vector<int>& gpus, std::string_view list,
                                const std::function<std::string(int)>& uuid);

// Returns the NUMA domain nearest to a GPU.
int domain_of(const Model& model, int gpu);
// Returns the NUMA domain of the memory policy of this thread, -1: none.
int thread_domain();
void set_thread_domain(int domain);
// Returns the domain of host memory that this thread allocates for a GPU: that of the thread's policy, else
// the one nearest to the GPU.
int host_domain(const Model& model, int gpu);

}  // namespace byteways::sim
