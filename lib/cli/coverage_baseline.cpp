#include "coverage_baseline.h"

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <optional>
#include <span>
#include <vector>

#include <fmt/format.h>

#include "coverage/baseline_rule.h"
#include "formats/baseline/baseline.h"
#include "report/coverage_report.h"
#include "support/file_io.h"
#include "support/path.h"
#include "support/text.h"

namespace tally::cli {

namespace {

using baseline::Baseline;
using baseline::Share;

// Returns the first lines that have a branch that was not taken.
std::string lines_not_taken(const FileCoverage &file, size_t most) {
  std::string out;
  size_t found = 0;
  for (const LineCoverage &line : file.lines)
    if (std::ranges::any_of(file.branches_of(line),
                            [](const auto &branch) { return branch.count == 0; }) &&
        ++found <= most)
      out += fmt::format("{}{}", out.empty() ? "" : ", ", line.line);
  return found > most ? fmt::format("{}, … {} more", out, found - most) : out;
}

std::string text_of(const CoverageLoss &loss, std::string_view least_of_new) {
  constexpr size_t most_ranges = 8;
  const std::string name = loss.of == CoverageLoss::Of::total ? "in total" : printable(loss.path);
  const std::string_view what = loss.branches ? "branches were taken" : "lines ran";
  std::string out = fmt::format("tally: {}: {} of {} {}", name, loss.now.ran, loss.now.all, what);
  if (loss.of == CoverageLoss::Of::new_file)
    out += fmt::format(
        " of a new file: {:.2f}%, less than {}%",
        std::floor(static_cast<double>(loss.now.ran) * 10'000 / static_cast<double>(loss.now.all)) /
            100,
        least_of_new);
  else
    out += fmt::format(", {} of {} in the baseline", loss.before.ran, loss.before.all);
  if (loss.file != nullptr && loss.branches)
    out += ": lines with branches not taken now: " + lines_not_taken(*loss.file, most_ranges);
  else if (loss.file != nullptr)
    out += ": not run now: " + missing_ranges(*loss.file, most_ranges);
  return out;
}

void show_losses(std::span<const CoverageLoss> losses, std::string_view least_of_new) {
  constexpr size_t most = 20;
  for (const CoverageLoss &loss : losses.first(std::min(most, losses.size())))
    say(text_of(loss, least_of_new));
  if (losses.size() > most)
    say(fmt::format("tally: and {} more are below the baseline", losses.size() - most));
}

void show_partial(const BaselineComparison &found, size_t all) {
  constexpr size_t most = 8;
  const std::vector<std::string> &files = found.without_counts;
  if (files.empty())
    return;
  std::vector<std::string> names;
  for (const std::string &path : std::span(files).first(std::min(most, files.size())))
    names.push_back(printable(path));
  say(fmt::format("tally: this run is partial: {} of {} of the baseline {} no counts now: {}{}",
                  files.size(), counted(all, "files"), files.size() == 1 ? "has" : "have",
                  joined_text(names, ", "),
                  files.size() > most ? fmt::format(", … {} more", files.size() - most) : ""));
}

// Reads the baseline; nothing if there is no such file.
Result<std::optional<Baseline>> stored_baseline(const std::string &path) {
  auto source = ByteSource::open(path);
  if (!source && source.error().code == ErrorCode::not_found)
    return std::optional<Baseline>();
  if (!source)
    return fail(std::move(source.error()));
  TALLY_TRY(baseline, baseline::read(**source));
  return std::optional(std::move(baseline));
}

std::string change_text(const BaselineComparison &found) {
  std::vector<std::string> parts;
  for (const auto &[number, what] :
       {std::pair(found.raised, "raised"), std::pair(found.changed, "changed"),
        std::pair(found.added, "new"), std::pair(found.removed, "removed")})
    if (number > 0)
      parts.push_back(fmt::format("{} {}", number, what));
  return joined_text(parts, ", ");
}

Result<void> update(const std::string &path, const Baseline &before,
                    const BaselineComparison &found) {
  if (found.gone_but_kept > 0)
    say(fmt::format("tally: {}: nothing is removed, because not all was counted", path));
  if (found.next == before) {
    say(fmt::format("tally: {} is up to date", path));
    return {};
  }
  TALLY_CHECK(write_file(path, baseline::write(found.next)));
  say(fmt::format("tally: updated {}: {}", path, change_text(found)));
  return {};
}

} // namespace

Result<void> check_baseline_options(const ParsedCommand &given) {
  if (!given.has("baseline")) {
    for (const char *option : {"fail-under-new", "update-baseline"})
      if (given.has(option))
        return fail(ErrorCode::invalid_argument, "requires --baseline",
                    fmt::format("--{}", option));
    return {};
  }
  const std::string_view path = given.value("baseline");
  if (given.has("diff"))
    return fail(ErrorCode::invalid_argument,
                "cannot be used with --diff: a baseline has the numbers of whole files",
                "--baseline");
  if (given.has("which-tests"))
    return fail(ErrorCode::invalid_argument, "cannot be used with --which-tests", "--baseline");
  if (path == "-" || unpacked_name(path).size() < path.size())
    return fail(ErrorCode::invalid_argument,
                fmt::format("expected a file that is not compressed, found '{}'", path),
                "--baseline");
  return {};
}

Result<void> compare_with_baseline(const ParsedCommand &given, const CollectedCoverage &collected,
                                   const PathFilter &filter, Outcome &outcome) {
  if (!given.has("baseline"))
    return {};
  const std::string path(given.value("baseline"));
  const bool updates = given.has("update-baseline");
  TALLY_TRY(before, stored_baseline(path));
  if (!before) {
    if (!updates)
      return fail(ErrorCode::invalid_input,
                  "there is no such file: --update-baseline makes it (tally-meson: "
                  "--coverage-update)",
                  path);
    if (outcome.status != done) {
      say(fmt::format("tally: {} is not written, because a threshold is not met", path));
      return {};
    }
    if (collected.skipped > 0)
      say(fmt::format("tally: {}: {} left out, so that the baseline is partial", path,
                      counted(collected.skipped, "objects") +
                          (collected.skipped == 1 ? " was" : " were")));
    const Baseline first = baseline_of(collected.coverage, collected.root);
    TALLY_CHECK(write_file(path, baseline::write(first)));
    say(fmt::format("tally: wrote {}: {}", path, counted(first.size(), "files")));
    return {};
  }
  BaselineOptions options{.root = collected.root,
                          .filter = &filter,
                          .exists =
                              [&](const std::string &file) {
                                std::error_code ignored;
                                return std::filesystem::exists(
                                    std::filesystem::path(collected.root) / file, ignored);
                              },
                          .is_partial = collected.skipped > 0};
  const std::string least(given.value("fail-under-new"));
  if (!least.empty())
    options.least_of_new = std::strtod(least.c_str(), nullptr);
  const BaselineComparison found =
      tally::compare_with_baseline(collected.coverage, *before, options);
  TALLY_CHECK(filter.check());
  if (found.compared == 0 && found.selected > 0)
    return fail(ErrorCode::no_data,
                fmt::format("none of its {} was counted, so that nothing is compared: the paths "
                            "are relative to {} (--root)",
                            counted(found.selected, "files"), collected.root),
                path);
  show_partial(found, before->size());
  if (found.misses_branches)
    say(fmt::format("tally: {}: its branches are not compared, because there are none now", path));
  if (found.losses.empty()) {
    if (updates && outcome.status == done)
      return update(path, *before, found);
    if (updates)
      say(fmt::format("tally: {} is not updated, because a threshold is not met", path));
    return {};
  }
  show_losses(found.losses, least);
  if (updates)
    say(fmt::format("tally: {} is not updated", path));
  if (outcome.status == done)
    outcome.status = below_threshold;
  return {};
}

} // namespace tally::cli
