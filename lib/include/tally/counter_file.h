// Files of coverage notes and counters, as they lie on the disk.
#pragma once

#include <memory>
#include <string>

#include <tally/export.h>
#include <tally/result.h>

namespace tally {

// Holds all that its file does: what is read and written again has the same bytes.
class TALLY_API CounterFile {
public:
  virtual ~CounterFile() = default;
  virtual Result<std::string> bytes() const = 0;
  // Adds the counters of another file of the same object, each by the rule of its kind. Another
  // object, or a file without counters, is invalid_input; so is a sum that leaves 64 bits, as
  // overflow. After an error the counters are those of before.
  virtual Result<void> add(const CounterFile &other) = 0;
  // Makes one of the parts that several runs appended to the file, as add() does.
  virtual Result<void> unite() { return {}; }
  // As if nothing had run. A file without counters is invalid_input.
  virtual Result<void> zero() = 0;
};

} // namespace tally
