// See unwinding.hpp.
#include "watch/mpi/unwinding.hpp"

#if defined(__GNUC__) && !defined(__clang__)
#include <dlfcn.h>
#include <unwind.h>

#include <cstdlib>

namespace {

constexpr const char* kLibrary = "libgcc_s.so.1";

// A function of the library that unwinds, by its name.
template <class Signature>
class Step;
template <class Result, class... Arguments>
class Step<Result(Arguments...)> {
 public:
  explicit constexpr Step(const char* name) : name_(name) {}
  void resolve(void* library) noexcept {
    if (library != nullptr) function_ = reinterpret_cast<Function>(dlsym(library, name_));
  }
  // Whoever unwinds has loaded the library, unless the program was linked with one of its own.
  Result operator()(Arguments... arguments) {
    if (function_ == nullptr) resolve(dlopen(kLibrary, RTLD_LAZY));
    if (function_ == nullptr) std::abort();
    return function_(arguments...);
  }

 private:
  using Function = Result (*)(Arguments...);
  const char* const name_;
  Function function_ = nullptr;  // written with one value only, whoever writes
};

}  // namespace

// clang-format off
#define STEPS(act)                                                                                       \
  act(void, DeleteException, (_Unwind_Exception * exception), (exception))                               \
  act(_Unwind_Ptr, GetDataRelBase, (_Unwind_Context * context), (context))                               \
  act(_Unwind_Ptr, GetTextRelBase, (_Unwind_Context * context), (context))                               \
  act(_Unwind_Ptr, GetIPInfo, (_Unwind_Context * context, int* before), (context, before))               \
  act(void*, GetLanguageSpecificData, (_Unwind_Context * context), (context))                            \
  act(_Unwind_Ptr, GetRegionStart, (_Unwind_Context * context), (context))                               \
  act(_Unwind_Reason_Code, RaiseException, (_Unwind_Exception * exception), (exception))                 \
  act(_Unwind_Reason_Code, Resume_or_Rethrow, (_Unwind_Exception * exception), (exception))              \
  act(void, Resume, (_Unwind_Exception * exception), (exception))                                        \
  act(void, SetGR, (_Unwind_Context * context, int at, _Unwind_Word value), (context, at, value))        \
  act(void, SetIP, (_Unwind_Context * context, _Unwind_Ptr place), (context, place))
// clang-format on

#define DEFINE(result, name, declared, passed)                   \
  namespace {                                                    \
  constinit Step<result declared> step_##name("_Unwind_" #name); \
  }                                                              \
  extern "C" result _Unwind_##name declared { return step_##name passed; }
STEPS(DEFINE)

// In place of the one that prints the exception, which brings a parser of C++ names.
namespace __gnu_cxx {
void __verbose_terminate_handler() { std::abort(); }
}  // namespace __gnu_cxx

namespace byteways::watch::mpi {

void find_unwinding() noexcept {
  void* const library = dlopen(kLibrary, RTLD_LAZY | RTLD_NOLOAD);
  if (library == nullptr) return;
#define RESOLVE(result, name, declared, passed) step_##name.resolve(library);
  STEPS(RESOLVE)
}

}  // namespace byteways::watch::mpi
#else
namespace byteways::watch::mpi {
void find_unwinding() noexcept {}
}  // namespace byteways::watch::mpi
#endif
