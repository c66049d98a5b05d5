#include "symbolize/debuginfod.h"

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <condition_variable>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <exception>
#include <iterator>
#include <mutex>
#include <optional>
#include <string_view>
#include <system_error>
#include <thread>
#include <utility>

#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

#ifdef TALLY_WITH_DEBUGINFOD
#include <elfutils/debuginfod.h>
#endif

#include "support/late_library.h"
#include "support/unique_fd.h"
#include "symbolize/dwarf_table.h"
#include "symbolize/elf_file.h"
#include "symbolize/fetch_limits.h"

namespace tally::symbolize {

// What the thread and its owner share.
struct FetchExchange {
  std::vector<std::string> debug_directories;
  FetchLimits limits;
  std::string cache; // the directory

  std::mutex mutex; // guards the following members up to `changed`
  DebugFileFetcher::Progress progress;
  std::vector<FetchResult> results; // that the owner has not taken
  bool gave_up = false;             // a server hung, or none was reachable
  std::condition_variable changed;

  std::atomic<bool> stopped{false};
  std::thread thread;
};

#ifdef TALLY_WITH_DEBUGINFOD

namespace {

// The client library's functions, loaded at first use: the library brings libcurl and all that this
// needs.
struct ClientLibrary final : LateLibrary {
  decltype(&debuginfod_begin) begin = nullptr;
  decltype(&debuginfod_end) end = nullptr;
  decltype(&debuginfod_find_debuginfo) find_debuginfo = nullptr;
  decltype(&debuginfod_set_progressfn) set_progress = nullptr;
  decltype(&debuginfod_set_user_data) set_user_data = nullptr;
  decltype(&debuginfod_get_user_data) get_user_data = nullptr;
  decltype(&debuginfod_get_url) get_url = nullptr;

  ClientLibrary() : LateLibrary(DEBUGINFOD_SONAME) {
    resolve("debuginfod_begin", begin);
    resolve("debuginfod_end", end);
    resolve("debuginfod_find_debuginfo", find_debuginfo);
    resolve("debuginfod_set_progressfn", set_progress);
    resolve("debuginfod_set_user_data", set_user_data);
    resolve("debuginfod_get_user_data", get_user_data);
    resolve("debuginfod_get_url", get_url);
  }
};

const ClientLibrary &client_library() {
  static const ClientLibrary library;
  return library;
}

// Fetches one file after the other. It runs in a thread of its own, which receives no signal:
// neither those of a debugger, nor SIGPIPE from a connection that the server has closed.
class FetchWorker {
public:
  FetchWorker(FetchExchange &shared, std::vector<FetchRequest> requests)
      : shared_(shared), requests_(std::move(requests)), library_(client_library()) {}

  void run() {
    try {
      fetch_all();
    } catch (const std::exception &) { // memory is short
      client_ = nullptr;
    }
    const std::lock_guard lock(shared_.mutex);
    shared_.progress.finished = true;
    shared_.changed.notify_all();
  }

private:
  void fetch_all() {
    const std::unique_ptr<debuginfod_client, void (*)(debuginfod_client *)> client(library_.begin(),
                                                                                   library_.end);
    client_ = client.get();
    if (client_) {
      library_.set_user_data(client_, this);
      library_.set_progress(client_, [](debuginfod_client *running, long a, long b) {
        auto *const self = static_cast<FetchWorker *>(client_library().get_user_data(running));
        return self->may_go_on(a, b) ? 0 : 1;
      });
    }
    for (const FetchRequest &request : requests_) {
      FetchResult result = fetched(request);
      const std::lock_guard lock(shared_.mutex);
      shared_.gave_up |=
          result.outcome == FetchOutcome::hangs || result.outcome == FetchOutcome::unreachable;
      shared_.results.push_back(std::move(result));
      ++shared_.progress.done;
      if (shared_.gave_up || shared_.stopped)
        break;
      shared_.changed.notify_all();
    }
  }

  FetchResult fetched(const FetchRequest &request) {
    FetchResult result;
    result.module = request.module;
    result.outcome = fetch(request.module, request.build_id, result.path, result.detail);
    if (result.outcome != FetchOutcome::found)
      return result;
    const auto file = ElfFile::open(result.path);
    const auto link = file ? alternate_link(*file) : std::nullopt;
    if (!link || open_alternate(*link, result.path, shared_.debug_directories))
      return result;
    std::string unused;
    const FetchOutcome outcome = fetch(request.module, link->build_id, result.alternate, unused);
    result.whole = outcome == FetchOutcome::found;
    if (!result.whole)
      result.alternate.clear();
    const std::lock_guard lock(shared_.mutex);
    shared_.gave_up |= outcome == FetchOutcome::hangs || outcome == FetchOutcome::unreachable;
    return result;
  }

  FetchOutcome fetch(uint32_t module, const std::string &build_id, std::string &path,
                     std::string &detail) {
    if (!client_)
      return FetchOutcome::unreachable;
    {
      const std::lock_guard lock(shared_.mutex);
      shared_.progress.module = module;
      shared_.progress.received = shared_.progress.size = 0;
    }
    watch_.emplace(shared_.limits, std::chrono::steady_clock::now());
    verdict_ = FetchVerdict::go_on;
    received_ = 0;
    char *found = nullptr;
    const UniqueFd fd(library_.find_debuginfo(
        client_, reinterpret_cast<const unsigned char *>(build_id.c_str()), 0, &found));
    const std::unique_ptr<char, void (*)(void *)> owned(found, std::free);
    if (fd.get() >= 0 && found) {
      path = found;
      const auto file = ElfFile::open(path);
      const bool right = file && file->build_id() == build_id;
      // A truncated file has no section headers, which are at its end.
      if (right && (file->has_dwarf() || file->has_section(".symtab")))
        return FetchOutcome::found;
      // Otherwise the cache would answer with this file for a week, and not ask a server again.
      ::unlink(found);
      return right ? FetchOutcome::damaged : FetchOutcome::wrong;
    }
    const bool broken_off = fd.get() == -ENOENT && received_ > 0;
    if (broken_off || verdict_ != FetchVerdict::go_on || shared_.stopped)
      forget_miss(build_id);
    if (verdict_ == FetchVerdict::hangs || fd.get() == -ETIME)
      return FetchOutcome::hangs;
    if (verdict_ == FetchVerdict::too_large || fd.get() == -EFBIG)
      return FetchOutcome::too_large;
    if (verdict_ == FetchVerdict::no_space) {
      detail = shared_.cache;
      return FetchOutcome::no_space;
    }
    if (shared_.stopped)
      return FetchOutcome::stopped;
    if (fd.get() == -ENOENT)
      return broken_off ? FetchOutcome::broken_off : FetchOutcome::missing;
    detail = std::strerror(-fd.get());
    return FetchOutcome::unreachable;
  }

  // The client library remembers for ten minutes that no server has a file, by an empty file in its
  // place. Version 0.188 also does so if may_go_on() or the server ended the transfer. Where
  // another version keeps its files elsewhere, this does nothing.
  void forget_miss(const std::string &build_id) const {
    const std::string folder = shared_.cache + '/' + build_id;
    const std::string path = folder + "/debuginfo";
    struct stat status {};
    if (::lstat(path.c_str(), &status) == 0 && S_ISREG(status.st_mode) && status.st_size == 0 &&
        ::unlink(path.c_str()) == 0)
      ::rmdir(folder.c_str());
  }

  // Called by the client library at least once a second. As long as no server has answered, `a`
  // counts these calls.
  bool may_go_on(long a, long b) {
    if (shared_.stopped)
      return false;
    const auto number = [](long value) { return value > 0 ? static_cast<uint64_t>(value) : 0; };
    const bool answered = library_.get_url(client_) != nullptr;
    received_ = answered ? number(a) : 0;
    const uint64_t size = answered ? number(b) : 0;
    verdict_ = watch_->check(std::chrono::steady_clock::now(), received_, size, free_bytes());
    const std::lock_guard lock(shared_.mutex);
    shared_.progress.received = received_;
    shared_.progress.size = size;
    return verdict_ == FetchVerdict::go_on;
  }

  uint64_t free_bytes() const {
    struct statvfs status {};
    if (::statvfs(shared_.cache.c_str(), &status) != 0)
      return UINT64_MAX; // the client library says what is wrong with the directory
    return uint64_t{status.f_bavail} * status.f_frsize;
  }

  FetchExchange &shared_;
  std::vector<FetchRequest> requests_;
  const ClientLibrary &library_;
  debuginfod_client *client_ = nullptr;
  // Of the file that is fetched now.
  std::optional<FetchWatch> watch_;
  FetchVerdict verdict_ = FetchVerdict::go_on;
  uint64_t received_ = 0;
};

} // namespace

#endif

std::string why_no_debuginfod() {
#ifdef TALLY_WITH_DEBUGINFOD
  const char *const servers = std::getenv("DEBUGINFOD_URLS");
  if (!servers || std::string_view(servers).find_first_not_of(' ') == std::string_view::npos)
    return "DEBUGINFOD_URLS names no server";
  return client_library().problem;
#else
  return "Tally was built without libdebuginfod";
#endif
}

DebugFileFetcher::DebugFileFetcher(std::vector<std::string> debug_directories)
    : shared_(std::make_unique<FetchExchange>()) {
  shared_->debug_directories = std::move(debug_directories);
}

DebugFileFetcher::~DebugFileFetcher() {
  stop();
  if (shared_->thread.joinable())
    shared_->thread.join();
}

void DebugFileFetcher::begin(std::vector<FetchRequest> requests) {
#ifdef TALLY_WITH_DEBUGINFOD
  if (requests.empty() || !may_ask())
    return;
  if (shared_->thread.joinable())
    shared_->thread.join();
  // The environment is read here, because the debugger may change it while the thread runs.
  shared_->limits = FetchLimits::of(std::getenv);
  shared_->cache = debuginfod_cache(std::getenv);
  shared_->progress = {
      .finished = false, .module = requests.front().module, .all = requests.size()};
  sigset_t all{}, before{};
  sigfillset(&all);
  ::pthread_sigmask(SIG_SETMASK, &all, &before); // the thread inherits it
  try {
    shared_->thread = std::thread([&shared = *shared_, wanted = std::move(requests)]() mutable {
      FetchWorker(shared, std::move(wanted)).run();
    });
  } catch (const std::system_error &) { // there are too many threads
    shared_->progress = {};
  }
  ::pthread_sigmask(SIG_SETMASK, &before, nullptr);
#else
  static_cast<void>(requests);
#endif
}

bool DebugFileFetcher::may_ask() const {
  const std::lock_guard lock(shared_->mutex);
  return !shared_->gave_up && !shared_->stopped && why_no_debuginfod().empty();
}

void DebugFileFetcher::stop() { shared_->stopped = true; }

DebugFileFetcher::Progress DebugFileFetcher::wait(std::chrono::milliseconds budget,
                                                  std::vector<FetchResult> &out) {
  std::unique_lock lock(shared_->mutex);
  shared_->changed.wait_for(lock, budget, [&] {
    return shared_->progress.finished || shared_->stopped || !shared_->results.empty();
  });
  std::ranges::move(shared_->results, std::back_inserter(out));
  shared_->results.clear();
  Progress now = shared_->progress;
  now.finished |= shared_->stopped;
  return now;
}

} // namespace tally::symbolize
