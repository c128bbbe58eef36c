// See registry.hpp.
#include "interfaces/registry.hpp"

#include <map>
#include <string>

namespace byteways {
namespace {

struct Entry {
  MakeMover make;
  RegisterInterface::Engines engines;
};

// A function-local static, because registrations run in any order.
std::map<std::string_view, Entry>& registered() {
  static std::map<std::string_view, Entry> all;
  return all;
}

}  // namespace

RegisterInterface::RegisterInterface(std::string_view name, MakeMover make, Engines engines) {
  registered()[name] = {make, engines};
}

std::vector<std::string_view> interface_names() {
  std::vector<std::string_view> names;
  for (const auto& [name, entry] : registered()) names.push_back(name);
  return names;
}

std::unique_ptr<Mover> make_mover(Session& session, const Flow& flow) {
  const auto found = registered().find(flow.interface);
  if (found == registered().end())
    throw Unsupported("interface", "unknown", "there is no interface named '" + flow.interface + "'");
  for (const Buffer* buffer : {flow.source, flow.destination, flow.second_source})
    for (const Device* user : {flow.executor, flow.partner}) {
      if (buffer == nullptr || user == nullptr) continue;
      if (const Availability known = session.knows(*user, *buffer); !known.available)
        throw Unsupported(flow.interface, "runtime", known.reason, flow.executor->name());
    }
  if (flow.number("copy_engine", -1) >= 0 && found->second.engines != RegisterInterface::Engines::chosen)
    throw Unsupported(flow.interface, "copy_engine", "this interface cannot be given an engine",
                      flow.executor->name());
  return found->second.make(session, flow);
}

}  // namespace byteways
