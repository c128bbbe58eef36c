// A vendor's function table with errors turned into exceptions. `Table` brings the functions, the types and
//   kOutOfMemory, kNotReady, kPeerAccessAlreadyEnabled   codes that are handled specially
//   error_name(code), error_text(code)                   the vendor's name and message
// A vendor's driver class derives from this and adds
//   Place                                               names a device in calls: a context or a number
//   place(device), enter(device, place)                 makes the device current for this thread
//   new_device_memory, new_managed_memory(device, memory, bytes), pinned_flags(memory)
//   prepare_kernel(device, kernel, own_shared_bytes)    returns its largest dynamic shared bytes
//   peer(device)                                        names a device in calls about peers
//   send_pages(issuer, data, bytes, place, stream)      the prefetch call
//   device_of(handle)                                   -1: the host; no value: several places, or none
//   hold_pages(data, bytes, owner, device, hold)        advice that keeps managed pages where they are
//   copy(device, to, from, bytes, stream)               the plain copy call
//   copy_and_wait(device, to, from, bytes)              the copy call that waits
//   batch_obstacle()                                    why copy_all() is not available; empty: it is
//   copy_all(device, to, from, sizes, stream)           copies each piece, with one call
//   rows_obstacle()                                     why copy_rows() is not available; empty: it is
//   copy_rows(device, rows, stream)                     copies pitched (2D) rows, with one call
#pragma once
#include <string>

#include "core/error.hpp"

namespace byteways::gpu {

template <class Table>
class Driver : public Table {
 public:
  // Returns the device name shown to users. A session numbers the GPUs of all its runtimes consecutively,
  // those of this runtime from `first_gpu` on.
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

  // Returns "NAME (text)", for use within a sentence.
  std::string words(int code) const {
    const std::string text = text_of(code);
    return this->error_name(code) + (text.empty() ? "" : " (" + text + ")");
  }

 private:
  // Returns the vendor's message; empty if it only repeats the name, as in HIP 5.
  std::string text_of(int code) const {
    std::string text = this->error_text(code);
    return text == this->error_name(code) ? std::string() : text;
  }

  int first_gpu_ = 0;
};

}  // namespace byteways::gpu
