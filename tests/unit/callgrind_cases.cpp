// callgrind_cases FOLDER SEED COUNT: random profiles as Callgrind files, and beside each its rows,
// for another reader to be compared with. A row is
//   self OBJECT FILE NAME LINE_FILE ADDRESS LINE COST…
//   arc  OBJECT FILE NAME LINE_FILE ADDRESS LINE OBJECT FILE NAME CALLS COST…
//   part COST…     the totals of each part, in order
// parted by tabs, names in hex.
#include <algorithm>
#include <cstdlib>
#include <iostream>

#include <fmt/format.h>

#include <tally/file_io.h>

#include "formats/callgrind/write.h"
#include "random_profile.h"

namespace tally {
namespace {

// As the file can hold it.
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

std::string words(const PlaceKey &place) {
  const auto &[function, file, address, line] = place;
  return fmt::format("{}\t{}\t{}\t{}", words(function), hex(file), address, line);
}

std::string words(const Costs &costs) {
  std::string out;
  for (uint64_t cost : costs)
    out += fmt::format("\t{}", cost);
  return out;
}

// Blocks in any order, several parts, jumps, costs of all sizes.
CostProfile random_costs(Random &random) {
  CostProfileBuilder builder;
  const uint64_t events = 1 + pick(random, 3);
  for (uint64_t i = 0; i < events; ++i)
    builder.add_event("E" + std::to_string(i));
  const bool addresses = pick(random, 2) == 0, has_lines = !addresses || pick(random, 2) == 0;
  builder.set_positions(addresses, has_lines);
  std::vector<CostFunctionId> functions;
  std::vector<FileId> files;
  for (int i = 0; i < 4; ++i)
    files.push_back(builder.add_file(i == 0 ? "" : "f" + std::to_string(i)));
  for (int i = 0; i < 6; ++i)
    functions.push_back(builder.add_function(
        "n" + std::to_string(pick(random, 4)), files[pick(random, 4)],
        builder.add_object(pick(random, 3) == 0 ? "" : "o" + std::to_string(pick(random, 2)))));
  std::vector<CostPartId> parts;
  for (uint64_t i = 1 + pick(random, 3); i > 0; --i) {
    CostPart part;
    part.number = static_cast<uint32_t>(parts.size() + 1);
    parts.push_back(builder.add_part(part));
  }
  const auto position = [&] {
    return CostPosition{addresses ? 0x400000 + pick(random, 3000000) : 0,
                        has_lines ? static_cast<uint32_t>(pick(random, 200)) : 0};
  };
  Costs costs(events);
  const auto fill = [&] {
    for (uint64_t &cost : costs)
      cost = pick(random, 4) == 0 ? 0 : pick(random, pick(random, 3) == 0 ? uint64_t{1} << 50 : 9);
  };
  for (uint64_t blocks = pick(random, 12); blocks > 0; --blocks) {
    builder.begin_block(parts[pick(random, parts.size())], functions[pick(random, 6)],
                        files[pick(random, 4)]);
    for (uint64_t rows = pick(random, 6); rows > 0; --rows) {
      fill();
      switch (pick(random, 4)) {
      case 0:
        builder.add_call({position(), functions[pick(random, 6)], position(), pick(random, 5)},
                         costs);
        break;
      case 1:
        builder.add_jump({position(), position(), files[pick(random, 4)],
                          functions[pick(random, 6)], pick(random, 2) == 0, 5, 3});
        break;
      default:
        builder.add_cost(position(), costs);
        break;
      }
    }
  }
  return std::move(*builder.finish());
}

int run(const std::string &folder, uint64_t seed, int count) {
  Random random(seed);
  for (int i = 0; i < count; ++i) {
    RandomShape shape = random_shape(random);
    shape.strange_names = i % 2 == 0;
    auto profile = i % 3 == 2 ? Result<CostProfile>(random_costs(random))
                              : aggregate(random_profile(random, shape));
    if (!profile) {
      std::cerr << profile.error().text() << '\n';
      return 1;
    }
    if (pick(random, 2) == 0) // whose files are read by another rule for relative positions
      profile->creator = profile->strings.intern("callgrind-3.19");
    const Counted rows = rows_of(*profile);
    std::string text;
    for (const auto &[place, costs] : rows.self)
      text += fmt::format("self\t{}{}\n", words(place), words(costs));
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
