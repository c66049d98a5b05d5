// `profile annotate --asm`: shows a function's instructions, from the debugger or from files.
#include <charconv>

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

// Adds the instructions of the debugger's answer, one "0xADDRESS\ttext" per line.
void take_instructions(FunctionCode &code, std::string_view answer) {
  while (!answer.empty()) {
    const size_t end = std::min(answer.find('\n'), answer.size());
    const std::string_view line = answer.substr(0, end);
    answer.remove_prefix(std::min(end + 1, answer.size()));
    const size_t tab = line.find('\t');
    uint64_t address = 0;
    if (tab == line.npos || !line.starts_with("0x") ||
        std::from_chars(line.data() + 2, line.data() + tab, address, 16).ptr != line.data() + tab)
      continue;
    for (FunctionCode::Object &object : code.objects) {
      const auto bias = bias_of(object);
      if (bias && std::ranges::any_of(object.ranges, [&](const InstructionRange &range) {
            return range.holds(address - *bias);
          })) {
        object.instructions.push_back({address - *bias, std::string(line.substr(tab + 1))});
        object.run_time = true;
        break;
      }
    }
  }
  for (FunctionCode::Object &object : code.objects)
    sort_stably(object.instructions, {}, &Instruction::address);
}

} // namespace

Result<Reply> annotate_code(ProfileGroup &group, const ParsedCommand &command) {
  const std::string what = command.arguments[0];
  const SampleFilter wanted = command.filter();
  const bool json = command.has("json");
  return with_shown(group, command, [=, &group](Shown shown) -> Result<Reply> {
    Diagnostics ignored; // missing files were reported when the names were looked up
    const int pid = group.live_pid();
    std::string meant = what; // the function's name in the profile
    const auto code_of = [&](auto *each) {
      return by_any_name(*each, what, group.symbolizer(), pid, [&](const std::string &name) {
        meant = name;
        if constexpr (std::is_same_v<decltype(each), const StackProfile *>)
          return function_code(*each, name, group.symbolizer(), ignored, pid);
        else
          return function_code(*each, name, group.symbolizer(), ignored);
      });
    };
    TALLY_TRY(found, std::visit(code_of, shown));
    TALLY_CHECK(check_code_size(found, what));
    const auto finish = [what = meant, json, &group](FunctionCode code,
                                                     Shown profile) -> Result<Reply> {
      TALLY_CHECK(disassemble(code, group.symbolizer(), group.front.flavor));
      TALLY_TRY(
          all,
          std::visit([&](auto *each) { return disassembly(*each, code, what, group.symbolizer()); },
                     profile));
      return Reply{
          json ? to_json(all) : to_text(all, {}, group.front.text_options()) + footer(group), {}};
    };
    Request request{RequestKind::disassemble, {}, {}};
    if (pid != 0 && !group.sampling.is_running())
      for (const FunctionCode::Object &object : found.objects)
        if (const auto bias = bias_of(object))
          for (const InstructionRange &range : object.ranges)
            request.addresses.insert(request.addresses.end(),
                                     {range.start + *bias, range.end + *bias});
    if (request.addresses.empty())
      return finish(std::move(found), shown);
    group.front.actions.push(std::move(request),
                             [code = std::move(found), finish, profile = group.profiles.named(),
                              wanted](std::string_view answer) mutable -> Result<Reply> {
                               take_instructions(code, answer);
                               const auto show = [&]() -> Result<Reply> {
                                 if (wanted.takes_all())
                                   return finish(code, profile.get());
                                 TALLY_TRY(some, filter_samples(*profile, wanted));
                                 return finish(code, &some);
                               };
                               auto reply = show();
                               if (!reply && answer.find('\t') == answer.npos)
                                 reply.error().message +=
                                     fmt::format(" (the debugger: {})", answer);
                               return reply;
                             });
    return Reply{};
  });
}

} // namespace tally
