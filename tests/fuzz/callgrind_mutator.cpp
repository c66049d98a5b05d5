// Mutates Callgrind files line by line, so that most of what the fuzzer tries has the format's
// structure: lines come, go and change places, and numbers, positions and the numbers of names
// change. A quarter of the mutations are libFuzzer's own.
#include <array>
#include <cctype>
#include <cstdint>
#include <cstring>
#include <random>
#include <string>
#include <string_view>
#include <vector>

extern "C" size_t LLVMFuzzerMutate(uint8_t *data, size_t size, size_t max_size);

namespace {

using Random = std::minstd_rand;

size_t below(Random &random, size_t limit) { return limit == 0 ? 0 : random() % limit; }

constexpr std::array<std::string_view, 28> lines_to_insert{"fn=(1) main",
                                                           "fn=(2)",
                                                           "cfn=(1)",
                                                           "cfn=(2) callee",
                                                           "calls=1 1",
                                                           "calls=2 +3",
                                                           "fl=(1) a.c",
                                                           "fi=(2)",
                                                           "fe=(1)",
                                                           "cfi=(1)",
                                                           "cob=(1)",
                                                           "ob=(1) program",
                                                           "1 5",
                                                           "+1 7",
                                                           "-1 2 3",
                                                           "* 1",
                                                           "0x10 1 4",
                                                           "jump=1 2",
                                                           "jcnd=1/2 3",
                                                           "part: 2",
                                                           "thread: 1",
                                                           "events: Ir Dr",
                                                           "event: X = Ir + 2 Dr",
                                                           "positions: instr line",
                                                           "totals: 5",
                                                           "summary: 5 6",
                                                           "desc: Trigger: x",
                                                           ""};
constexpr std::array<std::string_view, 14> numbers{"0",
                                                   "1",
                                                   "-1",
                                                   "+1",
                                                   "*",
                                                   "0x0",
                                                   "0xffffffffffffffff",
                                                   "18446744073709551615",
                                                   "18446744073709551616",
                                                   "4294967295",
                                                   "4294967296",
                                                   "9223372036854775808",
                                                   "007",
                                                   ""};

std::vector<std::string> lines_of(std::string_view text) {
  std::vector<std::string> out;
  while (!text.empty()) {
    const size_t end = std::min(text.find('\n'), text.size());
    out.emplace_back(text.substr(0, end));
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return out;
}

// Replaces one number of a line, if it has any.
void change_number(std::string &line, Random &random) {
  std::vector<std::pair<size_t, size_t>> found;
  for (size_t i = 0; i < line.size();) {
    size_t end = i;
    while (end < line.size() && std::isxdigit(static_cast<unsigned char>(line[end])))
      ++end;
    if (end > i)
      found.emplace_back(i, end - i);
    i = end + 1;
  }
  if (found.empty())
    return;
  const auto [at, size] = found[below(random, found.size())];
  const std::string with = below(random, 2) == 0
                               ? std::to_string(below(random, 20))
                               : std::string(numbers[below(random, numbers.size())]);
  line.replace(at, size, with);
}

void mutate(std::vector<std::string> &lines, Random &random) {
  const size_t at = below(random, lines.size());
  if (lines.empty() || below(random, 6) == 0) {
    lines.insert(lines.begin() + static_cast<std::ptrdiff_t>(at),
                 std::string(lines_to_insert[below(random, lines_to_insert.size())]));
    return;
  }
  const size_t other = below(random, lines.size());
  switch (below(random, 5)) {
  case 0:
    lines.erase(lines.begin() + static_cast<std::ptrdiff_t>(at));
    break;
  case 1:
    std::swap(lines[at], lines[other]);
    break;
  case 2: { // several lines again
    const size_t end = std::min(lines.size(), at + 1 + below(random, 4));
    const std::vector<std::string> some(lines.begin() + static_cast<std::ptrdiff_t>(at),
                                        lines.begin() + static_cast<std::ptrdiff_t>(end));
    lines.insert(lines.begin() + static_cast<std::ptrdiff_t>(other), some.begin(), some.end());
    break;
  }
  default:
    change_number(lines[at], random);
  }
}

} // namespace

extern "C" size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t size, size_t max_size,
                                          unsigned seed) {
  Random random(seed);
  if (below(random, 4) == 0)
    return LLVMFuzzerMutate(data, size, max_size);
  auto lines = lines_of({reinterpret_cast<const char *>(data), size});
  for (size_t i = 0; i <= below(random, 4); ++i)
    mutate(lines, random);
  std::string text;
  for (const std::string &line : lines)
    text += line + '\n';
  if (text.size() > max_size)
    return LLVMFuzzerMutate(data, size, max_size);
  std::memcpy(data, text.data(), text.size());
  return text.size();
}
