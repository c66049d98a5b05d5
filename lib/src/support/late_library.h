// Loads a shared library when it is needed, so that programs that do not need it start without it.
#pragma once

#include <string>

#include <dlfcn.h>

namespace tally {

// A derived class has a pointer to each function that it uses, and resolves them when it is made.
class LateLibrary {
public:
  std::string problem; // why the functions cannot be used; empty if they can

protected:
  // The handle is never closed, so the functions stay valid until the process ends.
  explicit LateLibrary(const char *name)
      : name_(name), handle_(::dlopen(name, RTLD_NOW | RTLD_LOCAL)) {
    if (!handle_)
      note_problem();
  }
  // Does nothing if the library is not there.
  template <class Function> void resolve(const char *symbol, Function &function) {
    if (!handle_)
      return;
    function = reinterpret_cast<Function>(::dlsym(handle_, symbol));
    if (!function)
      note_problem();
  }

private:
  void note_problem() {
    const char *const text = ::dlerror();
    problem = text ? text : name_;
  }

  const char *name_;
  void *handle_;
};

} // namespace tally
