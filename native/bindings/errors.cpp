// Converts native exceptions to Python exceptions with the same fields: call, code, text, device, rank.
#include <nanobind/nanobind.h>
#include <nanobind/stl/string.h>

#include "bindings/bindings.hpp"
#include "core/error.hpp"

namespace nb = nanobind;

namespace byteways {
namespace {

// Never freed, like exception types in general.
struct ErrorTypes {
  nb::handle error, out_of_memory, unsupported;
};

void raise(nb::handle type, const Error& error) {
  nb::object exception = type(nb::str(error.what()));
  exception.attr("call") = error.call();
  exception.attr("code") = error.code();
  exception.attr("text") = error.text();
  exception.attr("device") = error.device();
  exception.attr("rank") = error.rank() < 0 ? nb::none() : nb::object(nb::int_(error.rank()));
  PyErr_SetObject(type.ptr(), exception.ptr());
}

nb::handle make_type(nb::module_& m, const char* name, nb::handle base) {
  const std::string qualified = std::string("byteways._core.") + name;
  nb::object type = nb::steal(PyErr_NewException(qualified.c_str(), base.ptr(), nullptr));
  m.attr(name) = type;
  return type.release();
}

}  // namespace

void bind_errors(nb::module_& m) {
  auto* types = new ErrorTypes;  // lives as long as the translator, which cannot be unregistered
  types->error = make_type(m, "Error", nb::handle(PyExc_RuntimeError));
  types->out_of_memory = make_type(m, "OutOfMemoryError", types->error);
  types->unsupported = make_type(m, "UnsupportedError", types->error);
  nb::register_exception_translator(
      [](const std::exception_ptr& pointer, void* payload) {
        const auto& known = *static_cast<const ErrorTypes*>(payload);
        try {
          std::rethrow_exception(pointer);
        } catch (const OutOfMemory& error) {
          raise(known.out_of_memory, error);
        } catch (const Unsupported& error) {
          raise(known.unsupported, error);
        } catch (const Error& error) {
          raise(known.error, error);
        }
      },
      types);
}

}  // namespace byteways
