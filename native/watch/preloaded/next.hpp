// A function that a preloaded library shows in place of another's: that of the next library which has it, so
// that others which were preloaded stay in the chain.
#pragma once
#include <dlfcn.h>

namespace byteways::watch {

template <class Function>
class Next {
 public:
  explicit constexpr Next(const char* name) : name_(name) {}
  // By the library's constructor: later the loader's lock may be held by a thread that waits for the one that
  // calls.
  void resolve() noexcept {
    function_ = reinterpret_cast<Function*>(dlsym(RTLD_NEXT, name_));
    if (function_ == nullptr) dlerror();  // else the program would read it as its own
    is_resolved_ = true;
  }
  // Null: no library has it. Constructors of other libraries may call before this one's has run.
  Function* get() noexcept {
    if (!is_resolved_) resolve();
    return function_;
  }

 private:
  const char* const name_;
  Function* function_ = nullptr;
  bool is_resolved_ = false;
};

}  // namespace byteways::watch
