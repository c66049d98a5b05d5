#include "commands.h"

#include <exception>
#include <stdexcept>
#include <utility>

namespace tally_lldb {

namespace {

// Ends sampling and the plug-in's threads when it is destroyed. All commands share one Closer, so
// this happens when LLDB destroys the last of them.
struct Closer {
  explicit Closer(std::shared_ptr<Front> owned) : front(std::move(owned)) {}
  Closer(const Closer &) = delete;
  ~Closer() { front->close(); }
  std::shared_ptr<Front> front;
};

class Command : public lldb::SBCommandPluginInterface {
public:
  Command(std::string group, std::string name, std::shared_ptr<Closer> owner)
      : group_(std::move(group)), name_(std::move(name)), owner_(std::move(owner)) {}

  // An exception that propagates from here would terminate LLDB.
  bool DoExecute(lldb::SBDebugger debugger, char **words,
                 lldb::SBCommandReturnObject &result) override {
    try {
      owner_->front->run(debugger, group_, name_, words, result);
    } catch (const std::exception &error) {
      result.SetError(error.what());
    } catch (...) {
      result.SetError((group_ + ": an unknown exception").c_str());
    }
    return result.Succeeded();
  }

private:
  std::string group_, name_;
  std::shared_ptr<Closer> owner_;
};

// Returns the help text after the summary and the usage, which LLDB shows by itself.
std::string rest_of_help(const std::string &help, const std::string &usage) {
  const size_t at = help.find(usage);
  return at == help.npos ? std::string() : help.substr(at + usage.size() + 1);
}

} // namespace

void register_commands(lldb::SBDebugger &debugger, const std::shared_ptr<Front> &front) {
  lldb::SBCommandInterpreter interpreter = debugger.GetCommandInterpreter();
  const auto owner = std::make_shared<Closer>(front);
  for (const char *group : {"profile", "coverage"}) {
    const std::string all = library().tally_help(group);
    lldb::SBCommand prefix =
        interpreter.AddMultiwordCommand(group, all.substr(0, all.find('\n')).c_str());
    // LLDB appends the list of the commands by itself.
    const size_t rest = all.find('\n') + 1;
    prefix.SetHelpLong(all.substr(rest, all.find("\n\n") - rest).c_str());
    const auto table = tally::commands(group);
    if (!table)
      throw std::runtime_error(table.error().text);
    for (size_t row = 0; row < table->rows(); ++row) {
      const auto cell = [&](const char *column) { return table->texts(column)[row]; };
      lldb::SBCommand command = prefix.AddCommand(
          cell("name"), new Command(group, cell("name"), owner), cell("summary"), cell("usage"));
      command.SetHelpLong(rest_of_help(cell("help"), cell("usage")).c_str());
    }
  }
}

} // namespace tally_lldb
