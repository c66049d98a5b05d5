// An LLDB plug-in: `other COMMAND` runs a command in a second debugger of the same process.
#include <string>

#include <lldb/API/LLDB.h>

namespace {

class Other : public lldb::SBCommandPluginInterface {
public:
  Other() : debugger_(lldb::SBDebugger::Create(false)) { debugger_.SetAsync(false); }

  bool DoExecute(lldb::SBDebugger, char **words, lldb::SBCommandReturnObject &result) override {
    std::string line;
    for (; words && *words; ++words)
      line += std::string(line.empty() ? "" : " ") + *words;
    lldb::SBCommandReturnObject shown;
    debugger_.GetCommandInterpreter().HandleCommand(line.c_str(), shown);
    result.Printf("%s%s", shown.GetOutput() ? shown.GetOutput() : "",
                  shown.GetError() ? shown.GetError() : "");
    result.SetStatus(lldb::eReturnStatusSuccessFinishResult);
    return true;
  }

private:
  lldb::SBDebugger debugger_;
};

} // namespace

namespace lldb {

__attribute__((visibility("default"))) bool PluginInitialize(SBDebugger debugger) {
  return debugger.GetCommandInterpreter()
      .AddCommand("other", new Other, "Do a command in another debugger.")
      .IsValid();
}

} // namespace lldb
