// toys NAME [SHEET]: plays one toy, on the machine of a sheet file where it needs one.
#include "toys.hpp"

#include <fstream>
#include <iomanip>
#include <sstream>

#include "simulator/machine/world.hpp"

int main(int count, char** words) {
  toys::Toys toys;
  toys::add_engine_toys(toys);
  toys::add_content_toys(toys);
  toys::add_world_toys(toys);
  toys::add_memory_toys(toys);
  toys::add_device_toys(toys);
  toys::add_lattice_toys(toys);
  const auto toy = count > 1 ? toys.find(words[1]) : toys.end();
  if (toy == toys.end()) return 2;
  std::cout << std::setprecision(17);
  try {
    if (count > 2) {
      std::ostringstream sheet;
      sheet << std::ifstream(words[2]).rdbuf();
      byteways::sim::World::load(sheet.str());
    }
    toy->second();
  } catch (const byteways::sim::Failure& failure) {
    toys::say("failure", static_cast<int>(failure.code()), failure.what());
  }
}
