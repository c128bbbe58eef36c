// The interfaces that this module has: the mover of each registers itself, and nothing else lists them.
#pragma once
#include <memory>
#include <string_view>
#include <vector>

#include "interfaces/mover.hpp"

namespace byteways {

using MakeMover = std::unique_ptr<Mover> (*)(Session& session, const Flow& flow);

// At namespace scope, in the folder of the interface.
class RegisterInterface {
 public:
  // Whether flows may name the copy engine that carries them out.
  enum class Engines { any, chosen };
  RegisterInterface(std::string_view name, MakeMover make, Engines engines = Engines::any);
};

template <class Interface>
std::unique_ptr<Mover> make(Session& session, const Flow& flow) {
  return std::make_unique<Interface>(session, flow);
}

// Of all that were registered, in alphabetical order.
std::vector<std::string_view> interface_names();

// Throws Unsupported when the interface is unknown, or cannot run with this executor and these buffers.
std::unique_ptr<Mover> make_mover(Session& session, const Flow& flow);

}  // namespace byteways
