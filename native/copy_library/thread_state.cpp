// See thread_state.hpp.
#include "copy_library/thread_state.hpp"

#include <pthread.h>

#include <atomic>
#include <new>

namespace byteways::copy_library {
namespace {

using State = std::array<std::unique_ptr<Kept>, kMostKept>;

[[gnu::tls_model("initial-exec")]] thread_local State* state = nullptr;

// Deleted with the library: what threads have then is lost, and no thread that ends calls code that is gone.
struct Key {
  pthread_key_t key{};
  bool made = pthread_key_create(&key, [](void* ended) {
                state = nullptr;
                delete static_cast<State*>(ended);
              }) == 0;
  ~Key() {
    if (made) pthread_key_delete(key);
  }
};
Key key;

}  // namespace

State& thread_state() {
  if (state != nullptr) return *state;
  auto made = std::make_unique<State>();
  if (!key.made || pthread_setspecific(key.key, made.get()) != 0) throw std::bad_alloc();
  state = made.release();
  return *state;
}

unsigned next_kept() {
  static std::atomic<unsigned> taken{0};
  return taken++;
}

}  // namespace byteways::copy_library
