// `profile annotate --asm`: shows a function's instructions, from the debugger or from files.
#include <fmt/format.h>

#include "report/disassembly.h"
#include "report/function_alias.h"
#include "session/profile_commands.h"
#include "support/sort.h"

namespace tally {

namespace {

// Returns run-time address - link-time address of the object; nothing if unknown.
std::optional<uint64_t> bias_of(const FunctionCode::Object &object) {
  return object.module == none<ModuleId> ? std::optional<uint64_t>(0) : object.bias;
}

void take_instructions(FunctionCode &code, std::vector<Instruction> instructions) {
  for (Instruction &each : instructions)
    for (FunctionCode::Object &object : code.objects) {
      const auto bias = bias_of(object);
      if (bias && std::ranges::any_of(object.ranges, [&](const InstructionRange &range) {
            return range.holds(each.address - *bias);
          })) {
        object.instructions.push_back({each.address - *bias, std::move(each.text)});
        object.run_time = true;
        break;
      }
    }
  for (FunctionCode::Object &object : code.objects)
    sort_stably(object.instructions, {}, &Instruction::address);
}

} // namespace

Result<std::string> annotate_code(ShownProfile &profile, Front &front,
                                  const ParsedCommand &command) {
  const std::string &what = command.arguments[0];
  TALLY_TRY(shown, profile.selected(command));
  Diagnostics ignored; // missing files were reported when the names were looked up
  const int pid = profile.live_pid();
  std::string meant = what; // the function's name in the profile
  const auto code_of = [&](const auto &each) {
    return by_any_name(
        *each, what, profile.names().symbolizer(), pid, [&](const std::string &name) {
          meant = name;
          if constexpr (std::is_same_v<decltype(*each), const StackProfile &>)
            return function_code(*each, name, profile.names().symbolizer(), ignored, pid);
          else
            return function_code(*each, name, profile.names().symbolizer(), ignored);
        });
  };
  TALLY_TRY(code, std::visit(code_of, shown));
  TALLY_CHECK(check_code_size(code, what));
  std::vector<live::AddressRange> ranges; // of code that the debugger can read
  if (pid != 0 && !profile.is_running())
    for (const FunctionCode::Object &object : code.objects)
      if (const auto bias = bias_of(object))
        for (const InstructionRange &range : object.ranges)
          ranges.push_back({range.start + *bias, range.end + *bias});
  std::string refusal;
  if (!ranges.empty()) {
    auto instructions = front.ask(&Debugger::disassemble, ranges);
    if (instructions)
      take_instructions(code, std::move(*instructions));
    else if (is_interrupted(instructions.error()))
      return fail(std::move(instructions.error()));
    else
      refusal = fmt::format(" (the debugger: {})", instructions.error().message);
  }
  const auto made = [&]() -> Result<Disassembly> {
    TALLY_CHECK(disassemble(code, profile.names().symbolizer(), front.flavor));
    return std::visit(
        [&](const auto &each) {
          return disassembly(*each, code, meant, profile.names().symbolizer());
        },
        shown);
  };
  auto all = made();
  if (!all) {
    all.error().message += refusal;
    return fail(std::move(all.error()));
  }
  return command.has("json") ? to_json(*all)
                             : to_text(*all, {}, front.text_options()) + profile.footer();
}

} // namespace tally
