// A C++ program that uses the installed library: it builds a profile of two stacks and prints the
// total.
#include <cstdio>

#include <tally/stack_profile.h>

int main() {
  tally::StackProfileBuilder builder;
  builder.add_value_type("ticks", "count");

  tally::SourceFunction work;
  work.name = builder.intern("work");
  tally::SourceLine line;
  line.function = builder.add_function(work);
  line.line = 7;

  tally::Mapping program;
  program.start = 0x1000;
  program.limit = 0x2000;
  program.path = builder.intern("/bin/program");
  const tally::MappingId mapping = builder.add_mapping(program);

  const tally::LocationId leaf = builder.add_location(mapping, 0x1010, {&line, 1});
  const tally::LocationId caller = builder.add_location(mapping, 0x1100);
  const tally::StackId outer = builder.push(tally::none<tally::StackId>, caller);
  const tally::StackId inner = builder.push(outer, leaf);
  const tally::ThreadId thread = builder.add_thread(1, 1, "main");
  const tally::PartId part = builder.add_part({});
  builder.add_sample(inner, thread, part, 40);
  builder.add_sample(outer, thread, part, 2);

  const tally::Result<tally::StackProfile> profile = builder.finish();
  if (!profile) {
    std::fprintf(stderr, "%s\n", profile.error().text().c_str());
    return 1;
  }
  std::printf("%lld\n", static_cast<long long>(profile->totals()[0]));
  return 0;
}
