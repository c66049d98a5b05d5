#include "library.h"

#include <cstdlib>
#include <vector>

#include <dlfcn.h>

namespace tally_lldb {

namespace {

Library the_library;

// Returns the paths to try: $TALLY_LIBRARY alone if it is set. Otherwise the paths relative to the
// plug-in in an installation and in a build directory, and then a name for the dynamic loader's
// search path.
std::vector<std::string> candidates() {
  if (const char *path = std::getenv("TALLY_LIBRARY"); path && *path)
    return {path};
  std::vector<std::string> out;
  Dl_info self{};
  if (::dladdr(reinterpret_cast<const void *>(&load_library), &self) != 0 && self.dli_fname) {
    const std::string path = self.dli_fname;
    const std::string folder = path.substr(0, path.rfind('/') + 1);
    out = {folder + "../libtally.so.0", folder + "../lib/libtally.so.0"};
  }
  out.emplace_back("libtally.so.0");
  return out;
}

bool fill(Library &library, void *handle, const std::string &path, std::string &why) {
#define TALLY_LLDB_LOOK_UP(name)                                                                   \
  library.name = reinterpret_cast<decltype(library.name)>(::dlsym(handle, #name));                 \
  if (!library.name) {                                                                             \
    why = "plug-in and library do not match: " + path + " has no " #name;                          \
    return false;                                                                                  \
  }
  TALLY_LLDB_FUNCTIONS(TALLY_LLDB_LOOK_UP)
#undef TALLY_LLDB_LOOK_UP
  if (library.tally_abi() == TALLY_ABI)
    return true;
  why = "plug-in and library do not match: " + path + " has interface version " +
        std::to_string(library.tally_abi()) + ", the plug-in needs version " +
        std::to_string(TALLY_ABI);
  return false;
}

} // namespace

bool load_library(std::string &why) {
  static bool loaded = false;
  if (loaded)
    return true;
  why = "cannot load libtally:";
  for (const std::string &path : candidates()) {
    void *const handle = ::dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
    if (handle) {
      return loaded = fill(the_library, handle, path, why);
    }
    const char *const error = ::dlerror();
    why += std::string(why.back() == ':' ? " " : "; ") + (error ? error : path.c_str());
  }
  return false;
}

const Library &library() { return the_library; }

} // namespace tally_lldb
