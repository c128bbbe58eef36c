// See model.hpp: parses a machine sheet into a Model.
#include "simulator/machine/model.hpp"

#include <algorithm>
#include <stdexcept>

#include "simulator/machine/model_parser.hpp"

namespace byteways::sim {
namespace {

std::string at(const std::string& prefix, int index) { return prefix + "." + std::to_string(index); }

void read(ModelParser& sheet, const std::string& key, std::string& value) { value = sheet.text(key); }
void read(ModelParser& sheet, const std::string& key, double& value) { value = sheet.number(key); }
void read(ModelParser& sheet, const std::string& key, std::uint64_t& value) { value = sheet.whole(key); }
void read(ModelParser& sheet, const std::string& key, int& value) { value = sheet.integer(key); }
void read(ModelParser& sheet, const std::string& key, bool& value) { value = sheet.truth(key); }
void read(ModelParser& sheet, const std::string& key, unsigned& value) {
  value = static_cast<unsigned>(sheet.whole(key));
}

// A section, or a list of sections or values. Declared for those in it, which follow.
template <class Section>
void read(ModelParser& sheet, const std::string& prefix, Section& section);
template <class Item>
void read(ModelParser& sheet, const std::string& prefix, std::vector<Item>& items) {
  items.resize(static_cast<std::size_t>(sheet.count(prefix)));
  for (std::size_t index = 0; index < items.size(); ++index)
    read(sheet, at(prefix, static_cast<int>(index)), items[index]);
}

std::string within(const std::string& prefix, const char* name) {
  return prefix.empty() ? name : prefix + "." + name;
}

#define BYTEWAYS_SECTION(Section) \
  template <>                     \
  void read<Section>(ModelParser & sheet, const std::string& prefix, Section& section) {
#define BYTEWAYS_KEY(type, name) read(sheet, within(prefix, #name), section.name);
#define BYTEWAYS_CODE(...)
#define BYTEWAYS_END }
#include "simulator/machine/model.def"

void read_links(ModelParser& sheet, std::vector<LinkModel>& links) {
  for (int group = 0; group < sheet.count("links"); ++group) {
    LinkModel link;
    read(sheet, at("links", group), link);
    const std::string pairs = at("links", group) + ".pairs";
    for (int pair = 0; pair < sheet.count(pairs); ++pair) {
      const std::string ends = sheet.text(at(pairs, pair));
      const std::size_t dash = ends.find('-');
      if (dash == std::string::npos)
        throw std::invalid_argument("machine sheet, '" + at(pairs, pair) + "': '" + ends +
                                    "' is no pair such as gpu0-gpu1");
      link.a = ends.substr(0, dash);
      link.b = ends.substr(dash + 1);
      links.push_back(link);
    }
  }
}

void read_staging(ModelParser& sheet, const std::string& prefix, std::vector<StagingStep>& steps) {
  read(sheet, prefix, steps);
  if (steps.empty() || steps.back().up_to_bytes != 0)
    throw std::invalid_argument("machine sheet, '" + prefix +
                                "': the last step must be for all larger sizes");
}

}  // namespace

const LinkModel* Model::link_between(const std::string& a, const std::string& b) const {
  for (const LinkModel& link : links)
    if ((link.a == a && link.b == b) || (link.a == b && link.b == a)) return &link;
  return nullptr;
}

Model Model::from_sheet(std::string_view text) {
  ModelParser sheet(text);
  Model model;
  read<WholeModel>(sheet, "", model);
  model.hosts = std::max(1, model.hosts);
  read<FeatureModel>(sheet, "features", model);
  read(sheet, "gpu", model.gpu);
  for (const std::size_t given : {model.gpu.domains.size(), model.gpu.pci_addresses.size()})
    if (given != static_cast<std::size_t>(model.gpu.count))
      throw std::invalid_argument("machine sheet, 'gpu': not one domain and PCI address for each GPU");
  read(sheet, "cpu", model.cpu);
  read_links(sheet, model.links);
  read(sheet, "managed", model.managed);
  read_staging(sheet, "staging.to", model.staging_to);
  read_staging(sheet, "staging.from", model.staging_from);
  read(sheet, "calls", model.calls);
  read(sheet, "memory", model.memory);
  read(sheet, "mpi", model.mpi);
  read(sheet, "xccl", model.xccl);
  for (const std::string& name : sheet.names("rates")) read(sheet, "rates." + name, model.rates[name]);
  sheet.refuse_unread();
  return model;
}

}  // namespace byteways::sim
