// See fibre.hpp.
#include "simulator/engine/fibre.hpp"

#include <sys/mman.h>
#include <unistd.h>

#include <cstring>
#include <utility>

#include "simulator/machine/common.hpp"

// The Itanium C++ ABI (2.2.2, caught exceptions of a thread); libc++'s header does not declare it.
namespace __cxxabiv1 {
struct __cxa_eh_globals;
extern "C" __cxa_eh_globals* __cxa_get_globals() noexcept;
}  // namespace __cxxabiv1

namespace byteways::sim {
namespace {

// As threads have by default; pages that are never touched take no memory.
constexpr std::size_t kStackBytes = 8 << 20;

__attribute__((tls_model("initial-exec"))) constinit thread_local Fibre* running = nullptr;

std::size_t page_bytes() { return static_cast<std::size_t>(sysconf(_SC_PAGESIZE)); }

}  // namespace

Fibre* Fibre::current() { return running; }

Fibre::Fibre(std::function<void()> body) : body_(std::move(body)) {
  constexpr int kFlags = MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_STACK;
  void* const stack = mmap(nullptr, kStackBytes, PROT_READ | PROT_WRITE, kFlags, -1, 0);
  if (stack == MAP_FAILED) throw Failure(Code::out_of_memory, "no room for the stack of a rank");
  stack_ = static_cast<std::byte*>(stack);
  mprotect(stack_, page_bytes(), PROT_NONE);  // an overflow is a fault, not another buffer's bytes
  getcontext(&entry_);
  entry_.uc_stack.ss_sp = stack_;
  entry_.uc_stack.ss_size = kStackBytes;
  entry_.uc_link = nullptr;  // it jumps back
  makecontext(&entry_, &Fibre::begin, 0);
}

Fibre::~Fibre() { munmap(stack_, kStackBytes); }

// A catch block that rests would otherwise find the exception of another fibre when it goes on.
void Fibre::swap_exceptions(Exceptions& with) {
  Exceptions own;
  void* const globals = __cxxabiv1::__cxa_get_globals();
  std::memcpy(&own, globals, sizeof own);
  std::memcpy(globals, &with, sizeof with);
  with = own;
}

void Fibre::begin() {
  Fibre* const self = running;
  self->body_();
  self->ended_ = true;
  _longjmp(self->back_, 1);
}

void Fibre::resume() {
  Fibre* const before = std::exchange(running, this);
  swap_exceptions(exceptions_);
  if (_setjmp(back_) == 0) {
    if (begun_) _longjmp(here_, 1);
    begun_ = true;
    swapcontext(&resumer_, &entry_);
  }
  swap_exceptions(exceptions_);
  running = before;
}

void Fibre::rest() {
  if (_setjmp(here_) == 0) _longjmp(back_, 1);
}

}  // namespace byteways::sim
