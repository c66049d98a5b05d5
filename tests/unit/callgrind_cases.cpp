// callgrind_cases FOLDER SEED COUNT writes random profiles as Callgrind files and, beside each,
// its rows, so that another reader can be compared with ours. A row is one of
//   self OBJECT FILE NAME LINE_FILE ADDRESS LINE COST…
//   arc  OBJECT FILE NAME LINE_FILE ADDRESS LINE OBJECT FILE NAME CALLS COST…
//   part COST…     the totals of each part, in order
// Tabs separate the fields; names are in hexadecimal.
#include <algorithm>
#include <cstdlib>
#include <iostream>

#include <fmt/format.h>

#include "formats/callgrind/write.h"
#include "random_profile.h"
#include "support/file_io.h"

namespace tally {
namespace {

// Returns the name, in hexadecimal, in the form that the file can hold.
std::string hex(std::string name, bool is_function = false) {
  constexpr std::string_view blanks = " \t\r\n";
  name.erase(0, name.find_first_not_of(blanks));
  if (is_function && name.empty())
    name = "???";
  std::string out;
  for (char c : name)
    out += fmt::format("{:02x}", static_cast<unsigned char>(c == '\n' || c == '\r' ? ' ' : c));
  return out;
}

std::string words(const FunctionKey &function) {
  const auto &[object, file, name] = function;
  return fmt::format("{}\t{}\t{}", hex(object), hex(file), hex(name, true));
}

std::string words(const LocationKey &location) {
  const auto &[function, file, address, line] = location;
  return fmt::format("{}\t{}\t{}\t{}", words(function), hex(file), address, line);
}

std::string words(const Costs &costs) {
  std::string out;
  for (uint64_t cost : costs)
    out += fmt::format("\t{}", cost);
  return out;
}

int run(const std::string &folder, uint64_t seed, int count) {
  Random random(seed);
  for (int i = 0; i < count; ++i) {
    RandomShape shape = random_shape(random);
    shape.strange_names = i % 2 == 0;
    CostShape cost_shape;
    for (uint64_t events = 1 + pick(random, 3); events > 0; --events)
      cost_shape.events.push_back("E" + std::to_string(events));
    cost_shape.addresses = pick(random, 2) == 0;
    cost_shape.lines = !cost_shape.addresses || pick(random, 2) == 0;
    auto profile = i % 3 == 2 ? Result<CostProfile>(random_costs(random, cost_shape))
                              : aggregate(random_profile(random, shape));
    if (!profile) {
      std::cerr << profile.error().text() << '\n';
      return 1;
    }
    if (pick(random, 2) == 0) // readers apply another rule to relative positions of this creator
      profile->creator = profile->strings.intern("callgrind-3.19");
    const Counted rows = rows_of(*profile);
    std::string text;
    for (const auto &[location, costs] : rows.self)
      text += fmt::format("self\t{}{}\n", words(location), words(costs));
    for (const auto &[arc, row] : rows.arcs)
      text += fmt::format("arc\t{}\t{}\t{}{}\n", words(arc.first), words(arc.second), row.first,
                          words(row.second));
    for (uint32_t part = 0; part < profile->parts().size(); ++part) {
      Costs sum(profile->events().size()), costs(profile->events().size());
      for (const CostBlock &block : profile->blocks())
        for (uint32_t row = block.first_cost; row < block.last_cost; ++row)
          if (index_of(block.part) == part) {
            profile->costs().get(row, costs);
            add_to(sum, costs);
          }
      text += fmt::format("part{}\n", words(sum));
    }
    if (!write_file(fmt::format("{}/{}.rows", folder, i), text))
      return 1;
    for (const bool compress : {true, false}) {
      const auto written = callgrind::write(*profile, {.compress_names = compress});
      if (!written ||
          !write_file(fmt::format("{}/{}.{}.callgrind", folder, i, compress ? "ids" : "names"),
                      written->bytes))
        return 1;
    }
  }
  return 0;
}

} // namespace
} // namespace tally

int main(int argc, char **argv) {
  if (argc != 4)
    return 2;
  return tally::run(argv[1], std::strtoull(argv[2], nullptr, 10), std::atoi(argv[3]));
}
