// A vendor's function table with errors turned into exceptions. `Table` brings the functions, the types and
//   kOutOfMemory, kNotReady, kPeerAccessAlreadyEnabled   codes that have a meaning of their own
//   error_name(code), error_text(code)                   the vendor's words
// A vendor's driver class derives from this and adds
//   Place                                               what calls name a device's place by: a context, a
//   number place(device), enter(device, place)                 calls of this thread concern the device
//   new_device_memory, new_managed_memory(device, memory, bytes), pinned_flags(memory)
//   prepare_kernel(device, kernel, own_shared_bytes)    ready to launch; the dynamic shared bytes it may use
//   peer(device)                                        what calls about peers name a device by
//   send_pages(issuer, data, bytes, place, stream)      the prefetch call
//   device_of(handle)                                   -1: the host; nothing: several places, or none
//   hold_pages(data, bytes, owner, device, hold)        advice that keeps managed pages where they are
//   copy(device, to, from, bytes, stream)               the plain copy call
//   batch_obstacle()                                    why copy_all() cannot be had; empty when it can
//   copy_all(device, to, from, sizes, stream)           a copy of each, by one call
//   rows_obstacle()                                     why copy_rows() cannot be had; empty when it can
//   copy_rows(device, rows, stream)                     rows that lie a pitch apart, by one call
#pragma once
#include <string>

#include "core/error.hpp"

namespace byteways::gpu {

template <class Table>
class Driver : public Table {
 public:
  // The name a user knows the device by: a session numbers the GPUs of all its runtimes in one row, and those
  // of this one from `first_gpu` on.
  std::string name_of(int device) const {
    return device < 0 ? std::string() : "gpu" + std::to_string(first_gpu_ + device);
  }
  void number_from(int first_gpu) { first_gpu_ = first_gpu; }

  template <class Function, class... Arguments>
  void call(int device, const Function& function, Arguments... arguments) const {
    const int code = function(arguments...);
    if (code != 0) fail(function.symbol(), code, device);
  }

  [[noreturn]] void fail(const char* symbol, int code, int device) const {
    const std::string name = this->error_name(code), text = text_of(code);
    if (code == Table::kOutOfMemory) throw OutOfMemory(symbol, name, text, name_of(device));
    throw Error(symbol, name, text, name_of(device));
  }

  // "NAME (text)", for sentences that go on.
  std::string words(int code) const {
    const std::string text = text_of(code);
    return this->error_name(code) + (text.empty() ? "" : " (" + text + ")");
  }

 private:
  // Empty where the vendor has no more to say than the name: HIP 5 gives it twice.
  std::string text_of(int code) const {
    std::string text = this->error_text(code);
    return text == this->error_name(code) ? std::string() : text;
  }

  int first_gpu_ = 0;
};

}  // namespace byteways::gpu
