// A function with a stack of its own that can stop in the middle and go on later. Whoever resumes it runs it
// on its own thread: to change between two of them costs a fraction of a microsecond, where to wake a thread
// costs several.
#pragma once
#include <setjmp.h>
#include <ucontext.h>

#include <cstddef>
#include <functional>

namespace byteways::sim {

class Fibre {
 public:
  // Throws Failure (out_of_memory) when there is no room for its stack.
  explicit Fibre(std::function<void()> body);
  ~Fibre();  // it has not begun, or has ended
  Fibre(const Fibre&) = delete;
  Fibre& operator=(const Fibre&) = delete;

  // Runs it until it rests or ends: always on the same thread. What `body` throws ends the program.
  void resume();
  // Back to whoever resumed it. It is the one that runs.
  void rest();
  bool ended() const { return ended_; }
  // The one that runs on this thread, null: none.
  static Fibre* current();

 private:
  // The exceptions that are being handled, as the C++ ABI keeps them for each thread.
  struct Exceptions {
    void* caught = nullptr;
    unsigned int uncaught = 0;
  };
  static void begin();
  static void swap_exceptions(Exceptions& with);

  std::function<void()> body_;
  // The first time it is entered as a context. Later both sides jump: a context would ask the kernel for the
  // signal mask each time.
  ucontext_t entry_{}, resumer_{};
  jmp_buf here_{}, back_{};
  bool begun_ = false;
  Exceptions exceptions_;
  std::byte* stack_ = nullptr;
  bool ended_ = false;
};

}  // namespace byteways::sim
