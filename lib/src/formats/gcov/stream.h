// Reads the counters of several objects from one stream: that of freestanding programs of GCC 13
// and later, and the text that Zephyr prints.
#pragma once

#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "formats/gcov.h"
#include "model/counter_file.h"
#include "support/diagnostics.h"
#include "support/file_io.h"

namespace tally {

// Counters by the paths of the files that a hosted program would write.
class GcovStream final : public CounterFile {
public:
  const std::map<std::string, GcovData> &files() const { return files_; }
  // Adds counters to those of the same path. Errors are those of GcovData::add(), with the path.
  Result<void> add(const std::string &path, GcovData data);
  // Writes a file for each path below the directory.
  Result<void> write_below(const std::string &folder) const;

  // Returns the bytes of the file if there is one alone, and otherwise fails with unsupported.
  Result<std::string> bytes() const override;
  Result<void> add(const CounterFile &other) override;
  Result<void> zero() override; // fails: a stream is not written

private:
  std::map<std::string, GcovData> files_;
};

namespace gcov {

bool is_stream(std::string_view head);
// Returns whether the text of a log has counters somewhere.
bool has_dump(std::string_view text);
Result<std::unique_ptr<CounterFile>> read_stream(ByteSource &source, Diagnostics &diagnostics);

} // namespace gcov
} // namespace tally
