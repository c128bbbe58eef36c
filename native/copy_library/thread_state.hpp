// What the library keeps for each thread of a program: lists that calls fill again, and what it remembers.
//
// One pointer in the thread's static memory, and objects that are made when they are first used. A
// thread_local object would end the process where there is no memory for it or for its destructor; here the
// call throws std::bad_alloc.
#pragma once
#include <array>
#include <memory>

namespace byteways::copy_library {

struct Kept {
  virtual ~Kept() = default;
};

constexpr unsigned kMostKept = 8;  // types that are kept
std::array<std::unique_ptr<Kept>, kMostKept>& thread_state();
unsigned next_kept();

// The thread's one object of this type. May throw std::bad_alloc.
template <class Value>
Value& of_this_thread() {
  struct Holder final : Kept {
    Value value{};
  };
  static const unsigned number = next_kept();
  std::unique_ptr<Kept>& kept = thread_state().at(number);
  if (kept == nullptr) kept = std::make_unique<Holder>();
  return static_cast<Holder*>(kept.get())->value;
}

}  // namespace byteways::copy_library
