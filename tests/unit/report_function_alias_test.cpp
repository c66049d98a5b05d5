// Tests that a function is found by each name that symbol tables have for it.
#include <map>

#include <gtest/gtest.h>

#include "report/annotate.h"
#include "report/function_alias.h"
#include "report/tree.h"

namespace tally::report_function_alias_test {
namespace {

// libc: `write` and `__write` are names of __GI___libc_write; `twice` names it and `read`; no
// sample is in `unseen`.
class Libc final : public Symbolizer {
public:
  ModuleId module(const ModuleKey &key, Diagnostics &) override {
    return static_cast<ModuleId>(key.path == "/lib/libc.so.6");
  }
  std::optional<uint64_t> link_address(ModuleId, uint64_t) override { return {}; }
  void frames(ModuleId, uint64_t at, std::vector<SourceFrame> &out) override {
    const std::map<uint64_t, std::string_view> names{
        {0x100, "__GI___libc_write"}, {0x200, "read"}, {0x300, "unseen_function"}};
    out.push_back({names.at(at), {}, {}, 0, {}, 0});
  }
  std::vector<uint64_t> addresses_of(ModuleId module, std::string_view symbol) override {
    if (module != ModuleId{1})
      return {};
    return symbol == "write" || symbol == "__write" ? std::vector<uint64_t>{0x100}
           : symbol == "twice"                      ? std::vector<uint64_t>{0x100, 0x200}
           : symbol == "unseen"                     ? std::vector<uint64_t>{0x300}
                                                    : std::vector<uint64_t>();
  }
  std::string_view build_id(ModuleId) override { return {}; }
  void save_cache() override {}
};

StackProfile samples() {
  StackProfileBuilder builder;
  builder.add_value_type("ticks", "count");
  std::map<std::string, MappingId> mappings;
  for (const char *path : {"/bin/program", "/lib/libc.so.6"}) {
    Mapping mapping;
    mapping.path = builder.intern(path);
    mapping.start = 0x1000 * (mappings.size() + 1);
    mapping.limit = mapping.start + 0x1000;
    mappings[path] = builder.add_mapping(mapping);
  }
  const auto location = [&](const char *path, const char *name, uint64_t address) {
    SourceFunction function;
    function.name = builder.intern(name);
    function.object = builder.intern(path);
    return builder.add_location(
        mappings[path], address,
        std::vector<SourceLine>{
            {builder.add_function(function), builder.intern("/src/" + std::string(name)), 3}});
  };
  const StackId main = builder.push(none<StackId>, location("/bin/program", "main", 0x1100));
  for (const char *name : {"__GI___libc_write", "read", "__solver_MOD_step", "tank__fill"})
    builder.add_sample(builder.push(main, location("/lib/libc.so.6", name,
                                                   0x2100 + static_cast<unsigned char>(name[0]))),
                       none<ThreadId>, none<PartId>, 5);
  auto profile = builder.finish();
  EXPECT_TRUE(profile) << profile.error().text();
  return std::move(*profile);
}

std::string root(const auto &profile, const std::string &function) {
  Libc libc;
  const auto tree = by_any_name(profile, function, libc, 0, [&](const std::string &name) {
    TreeOptions how;
    how.function = name;
    return call_tree(profile, how);
  });
  return tree ? tree->nodes.front().name : tree.error().text();
}

TEST(FunctionAlias, FindsFunctionsAsFortranAndAdaSpellThem) {
  const StackProfile stacks = samples();
  for (const char *name : {"solver::step", "step", "__solver_MOD_step"})
    EXPECT_EQ(root(stacks, name), root(stacks, "__solver_MOD_step")) << name;
  for (const char *name : {"tank.fill", "tank__fill"})
    EXPECT_EQ(root(stacks, name), root(stacks, "tank__fill")) << name;
  for (const char *name : {"ill", "fill"}) // fill may be another function of a C program
    EXPECT_NE(root(stacks, name).find("no such function"), std::string::npos) << name;
}

TEST(FunctionAlias, FindsAFunctionThatTheProfileNamesDifferently) {
  const StackProfile stacks = samples();
  const auto costs = aggregate(stacks);
  ASSERT_TRUE(costs) << costs.error().text();
  const auto expect = [&](const std::string &name, std::string_view found) {
    EXPECT_EQ(root(stacks, name), found);
    EXPECT_EQ(root(*costs, name), found);
  };
  expect("__GI___libc_write", "__GI___libc_write");
  expect("write", "__GI___libc_write");
  expect("__write", "__GI___libc_write");
  expect("read", "read");
  expect("twice", "twice: is the name of 2 functions: __GI___libc_write, read");
  // Without samples or without a symbol, the error states the name that was typed.
  expect("unseen", "unseen: the profile has no such function");
  expect("nowhere", "nowhere: the profile has no such function");
}

TEST(FunctionAlias, ReportsLinesOfSeveralFunctions) {
  StackProfileBuilder builder;
  builder.add_value_type("ticks", "count");
  for (const char *name : {"A::run(int)", "B::run()", "other()"}) {
    SourceFunction function;
    function.name = builder.intern(name);
    builder.add_sample(
        builder.push(none<StackId>,
                     builder.add_location(none<MappingId>, 0x100 + static_cast<uint64_t>(name[0]),
                                          std::vector<SourceLine>{{builder.add_function(function),
                                                                   builder.intern("a.cpp"), 7}})),
        none<ThreadId>, none<PartId>, 1);
  }
  const auto profile = builder.finish();
  ASSERT_TRUE(profile) << profile.error().text();
  const auto text = [&](std::string_view what) {
    const auto annotation = annotate(*profile, what);
    return annotation ? to_text(*annotation) : annotation.error().text();
  };
  EXPECT_TRUE(text("run").ends_with("\n(the lines of 2 functions: A::run(int), B::run())\n"))
      << text("run");
  EXPECT_EQ(text("A::run").find("functions:"), std::string::npos) << text("A::run");
}

} // namespace
} // namespace tally::report_function_alias_test
