// A C++ program that uses the installed library: it reads a profile and prints the total.
#include <cstdio>

#include <tally.hpp>

int main() {
  const char *const path = "consumer.folded";
  if (std::FILE *const file = std::fopen(path, "w")) {
    std::fputs("main;work 40\nmain 2\n", file);
    std::fclose(file);
  }
  const auto profile = tally::Profile::read(path);
  std::remove(path);
  const auto events = profile.and_then([](const tally::Profile &each) { return each.events(); });
  if (!events) {
    std::fprintf(stderr, "%s\n", events.error().text.c_str());
    return 1;
  }
  std::printf("%llu\n", static_cast<unsigned long long>(events->counts("total")[0]));
  return tally::Profile::read("no/such/file").error().code == TALLY_ERROR_NOT_FOUND ? 0 : 2;
}
