// Registry of the interfaces in this module. Each mover registers itself; there is no other list.
#pragma once
#include <memory>
#include <string_view>
#include <vector>

#include "interfaces/mover.hpp"

namespace byteways {

using MakeMover = std::unique_ptr<Mover> (*)(Session& session, const Flow& flow);

// Registers an interface: define one at namespace scope, in the folder of the interface.
class RegisterInterface {
 public:
  // Whether flows may choose the copy engine.
  enum class Engines { any, chosen };
  RegisterInterface(std::string_view name, MakeMover make, Engines engines = Engines::any);
};

template <class Interface>
std::unique_ptr<Mover> make(Session& session, const Flow& flow) {
  return std::make_unique<Interface>(session, flow);
}

// Returns the names of all registered interfaces, in alphabetical order.
std::vector<std::string_view> interface_names();

// Creates the mover of a flow. Throws Unsupported if the interface is unknown, or cannot run with this
// executor and these buffers.
std::unique_ptr<Mover> make_mover(Session& session, const Flow& flow);

}  // namespace byteways
