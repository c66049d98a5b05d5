// Raw and indexed profiles as files of counters, for the commands that read, add up and write any
// counters.
#pragma once

#include <memory>
#include <span>
#include <string>

#include "formats/llvm/profile_sum.h"
#include "formats/llvm/source_profile.h"
#include "model/counter_file.h"
#include "support/diagnostics.h"
#include "support/file_io.h"

namespace tally::llvm {

class ProfileFile final : public CounterFile {
public:
  // `bytes` are those that `profile` was read from, and `name` is their file.
  ProfileFile(SourceProfile profile, std::string bytes, std::string name);

  // Fails with unsupported for a raw profile: its sum is an indexed one.
  Result<std::string> bytes() const override;
  std::vector<std::string> lost() const override;
  Result<void> add(const CounterFile &other) override;
  // Makes an indexed profile of a raw one.
  Result<void> unite() override;
  Result<void> zero() override;

  // Takes the names of counters that have none from the objects that the profile belongs to.
  Result<void> correlate(std::span<const std::string> objects, Diagnostics &diagnostics);

private:
  Result<void> sum();

  SourceProfile read_; // until it is united
  std::string bytes_;  // of an indexed profile that has not changed
  std::string name_;
  ProfileSum sum_;
  bool is_summed_ = false;
};

// A format's functions, see Format.
Result<std::unique_ptr<CounterFile>> read_raw_file(ByteSource &source, Diagnostics &diagnostics);
Result<std::unique_ptr<CounterFile>> read_indexed_file(ByteSource &source,
                                                       Diagnostics &diagnostics);

} // namespace tally::llvm
