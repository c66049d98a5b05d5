#include <algorithm>
#include <cctype>
#include <charconv>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <pugixml.hpp>

#include "formats/cobertura/cobertura.h"
#include "formats/file_rows.h"
#include "model/coverage_findings.h"
#include "support/hash.h"
#include "support/memory_limit.h"
#include "support/path.h"
#include "transform/coverage_sum.h"

namespace tally::cobertura {

namespace {

constexpr size_t longest_class = 4096; // of a name that is put before those of methods

template <class Number> std::optional<Number> number_in(std::string_view text) {
  Number value = 0;
  const auto [end, fault] = std::from_chars(text.data(), text.data() + text.size(), value);
  return fault == std::errc() && end == text.data() + text.size() ? std::optional(value)
                                                                  : std::nullopt;
}

// pugixml asks for pages of 32 KiB, and takes null for a lack of memory.
void *allocate_within_limit(size_t size) {
  return MemoryLimit::is_exceeded() ? nullptr : std::malloc(size);
}

class Reader {
public:
  Reader(std::string_view text, const std::string &source, Diagnostics &diagnostics)
      : text_(text), source_(source), diagnostics_(diagnostics) {}

  Result<Coverage> run() {
    // pugixml expands no entities of the file. A file that declares some would be misread.
    if (const size_t at = text_.find("<!ENTITY"); at != text_.npos)
      return wrong("declares an entity, which is not supported", at, ErrorCode::unsupported);
    [[maybe_unused]] static const bool is_set =
        (pugi::set_memory_management_functions(allocate_within_limit, std::free), true);
    const pugi::xml_parse_result parsed = document_.load_buffer(text_.data(), text_.size());
    if (parsed.status == pugi::status_out_of_memory)
      MemoryLimit::check();
    if (!parsed)
      return wrong(fmt::format("is not XML: {}", parsed.description()),
                   static_cast<size_t>(parsed.offset));
    const pugi::xml_node root = document_.document_element();
    if (std::string_view(root.name()) != "coverage" || !root.child("packages"))
      return wrong("is not Cobertura's XML: the element coverage with packages is missing",
                   offset_of(root));
    find_folder(root.child("sources"));
    // Old versions of Istanbul write classes without the element `package` if there is one
    // directory.
    const auto each_class = [&](auto &&visit) -> Result<void> {
      for (const pugi::xml_node package : root.child("packages")) {
        if (std::string_view(package.name()) == "class")
          TALLY_CHECK(visit(package));
        for (const pugi::xml_node node : package.child("classes").children("class"))
          TALLY_CHECK(visit(node));
        if (!package.child("classes")) // as some exporters of Swift write them
          for (const pugi::xml_node node : package.children("class"))
            TALLY_CHECK(visit(node));
      }
      return {};
    };
    TALLY_CHECK(each_class([&](const pugi::xml_node &node) { return find_class(node); }));
    const auto stated = number_in<uint64_t>(root.attribute("lines-valid").value());
    methods_have_lines_ = stated != lines_of_classes_;
    lines_of_file_.clear();
    TALLY_CHECK(each_class([&](const pugi::xml_node &node) { return read_class(node); }));
    return coverage_of_files(files_, diagnostics_);
  }

private:
  tl::unexpected<Error> wrong(std::string message, size_t offset,
                              ErrorCode code = ErrorCode::invalid_input) const {
    return fail(code, std::move(message), source_,
                Position::at_offset(std::min(offset, text_.size())));
  }
  static size_t offset_of(const pugi::xml_node &node) {
    const ptrdiff_t offset = node.offset_debug();
    return offset < 0 ? 0 : static_cast<size_t>(offset);
  }
  tl::unexpected<Error> wrong(std::string message, const pugi::xml_node &node) const {
    return wrong(std::move(message), offset_of(node));
  }
  void find(const CoverageFinding &finding, const pugi::xml_node &node) {
    diagnostics_.add(Severity::warning, finding.text, source_, Position::at_offset(offset_of(node)),
                     finding.key);
  }

  // Names of files are relative to a directory. If there are several, the file does not tell which.
  // Cobertura's own tool writes its option `--source` as one, too.
  void find_folder(const pugi::xml_node &sources) {
    std::vector<std::string_view> folders;
    for (const pugi::xml_node source : sources.children("source")) {
      const std::string_view text = trimmed(source.text().get());
      if (!text.empty() && !text.starts_with("--"))
        folders.push_back(text);
    }
    if (folders.size() > 1)
      diagnostics_.add(Severity::note,
                       "has several sources; the names of files are read as they are", source_,
                       Position::at_offset(offset_of(sources)));
    else if (!folders.empty() && folders[0] != "." && may_be_a_path(folders[0]))
      folder_ = with_slashes(std::string(folders[0]));
    if (!folder_.empty() && !folder_.ends_with('/'))
      folder_ += '/';
  }

  static std::string_view trimmed(std::string_view text) {
    constexpr char blanks[] = " \t\r\n";
    const size_t first = text.find_first_not_of(blanks);
    return first == text.npos ? "" : text.substr(first, text.find_last_not_of(blanks) - first + 1);
  }

  // Finds the files in which several classes are, and counts the lines of all classes.
  Result<void> find_class(const pugi::xml_node &node) {
    const std::string_view name = node.attribute("filename").value();
    if (name.empty())
      return wrong("a class without a filename", node);
    const std::string_view of_class = node.attribute("name").value();
    const auto [found, added] = only_classes_.try_emplace(name, of_class);
    if (!added && found->second != of_class)
      found->second = {};
    auto &lines = lines_of_file_[name];
    for (const pugi::xml_node line : node.child("lines").children("line"))
      lines_of_classes_ += lines.insert(line.attribute("number").value()).second;
    return {};
  }

  Result<void> read_class(const pugi::xml_node &node) {
    const std::string_view name = node.attribute("filename").value();
    const bool is_only = only_classes_[name] == node.attribute("name").value();
    lines_of_class_.clear();
    for (const pugi::xml_node line : node.child("lines").children("line")) {
      TALLY_CHECK(read_line(line));
      lines_of_class_.insert(line.attribute("number").value());
    }
    for (const pugi::xml_node method : node.child("methods").children("method")) {
      TALLY_CHECK(read_method(method, is_only ? "" : node.attribute("name").value()));
      for (const pugi::xml_node line : method.child("lines").children("line"))
        if (methods_have_lines_ && !lines_of_class_.contains(line.attribute("number").value()))
          TALLY_CHECK(read_line(line));
    }
    TALLY_TRY(file, rows_.take(is_absolute(name) ? std::string(name)
                                                 : fmt::format("{}{}", folder_,
                                                               with_slashes(std::string(name)))));
    files_.push_back(std::move(file));
    return {};
  }

  struct LineStart {
    uint32_t line = 0;
    int64_t hits = 0;
  };
  Result<LineStart> start_of(const pugi::xml_node &node) {
    const auto line = number_in<uint32_t>(node.attribute("number").value());
    auto hits = number_in<int64_t>(node.attribute("hits").value());
    if (!line)
      return wrong(fmt::format("expected the number of a line, found '{:.40}'",
                               node.attribute("number").value()),
                   node);
    if (!hits && number_in<uint64_t>(node.attribute("hits").value())) {
      find(large_count(), node);
      hits = 1;
    }
    if (!hits)
      return wrong(
          fmt::format("expected a number of hits, found '{:.40}'", node.attribute("hits").value()),
          node);
    if (*hits < 0)
      find(negative_count(), node);
    return LineStart{*line, times_run(*hits)};
  }

  Result<void> read_method(const pugi::xml_node &node, std::string_view of_class) {
    FunctionCoverage function;
    function.name = name_of(node.attribute("name").value(), node.attribute("signature").value());
    if (!of_class.empty()) // a long name before each method would take the square of its size
      function.name.insert(0, fmt::format("{}.", of_class.substr(0, longest_class)));
    const pugi::xml_node first = node.child("lines").child("line");
    if (function.name.empty() || !first)
      return {}; // nothing is known about it
    TALLY_TRY(start, start_of(first));
    function.start_line = start.line;
    function.count = start.hits;
    rows_.add_function(std::move(function));
    return {};
  }

  // A signature is a list of parameters or, as JVM's, begins with it. Some writers put the type
  // before it, or the whole declaration, or only what is between the parentheses.
  static std::string name_of(std::string_view name, std::string_view signature) {
    const size_t list = signature.find('(');
    if (signature.empty() || list == 0)
      return fmt::format("{}{}", name, signature);
    // memmem() takes linear time, which std::string_view::find() does not.
    const void *const found =
        name.empty() ? nullptr
                     : ::memmem(signature.data(), signature.size(), name.data(), name.size());
    const size_t at = found
                          ? static_cast<size_t>(static_cast<const char *>(found) - signature.data())
                          : signature.npos;
    const auto is_in_word = [&](size_t i) {
      return i < signature.size() &&
             (std::isalnum(static_cast<unsigned char>(signature[i])) != 0 || signature[i] == '_');
    };
    if (at != signature.npos && !is_in_word(at - 1) && !is_in_word(at + name.size()))
      return std::string(signature);
    return list == signature.npos ? fmt::format("{}({})", name, signature)
                                  : fmt::format("{}{}", name, signature.substr(list));
  }

  Result<void> read_line(const pugi::xml_node &node) {
    TALLY_TRY(start, start_of(node));
    const std::string_view share = node.attribute("condition-coverage").value();
    if (!share.empty())
      TALLY_CHECK(read_branches(share, node));
    if (start.line == 0) {
      find(no_line_0(), node);
      rows_.drop_line();
    } else {
      rows_.end_line(start.line, start.hits);
    }
    return {};
  }

  // Reads "50% (1/2)". How often a branch was taken is unknown, so that 1 stands for any number.
  Result<void> read_branches(std::string_view share, const pugi::xml_node &node) {
    const size_t open = share.find('('), slash = share.find('/'), close = share.rfind(')');
    // The DTD's default, which some writers copy, is 100%: without a number of branches there is
    // none.
    if (share.ends_with('%') && number_in<double>(share.substr(0, share.size() - 1))) {
      if (std::string_view(node.attribute("branch").value()) == "true")
        find({"a share of branches without their number is left out", "shares of branches"}, node);
      return {};
    }
    std::optional<uint32_t> part, whole;
    if (open < slash && slash < close && close != share.npos) {
      part = number_in<uint32_t>(share.substr(open + 1, slash - open - 1));
      whole = number_in<uint32_t>(share.substr(slash + 1, close - slash - 1));
    }
    if (!part || !whole || *part > *whole)
      return wrong(fmt::format("expected a share such as '50% (1/2)' as condition-coverage, found "
                               "'{:.40}'",
                               share),
                   node);
    // The numbers are small, but the memory would follow them.
    if (*whole > text_.size() - std::min<size_t>(branches_, text_.size()))
      return fail(ErrorCode::limit, fmt::format("has more branches than bytes: {}", share), source_,
                  Position::at_offset(offset_of(node)));
    branches_ += *whole;
    for (uint32_t i = 0; i < *whole; ++i)
      rows_.add_branch({i < *part ? 1 : 0, false, false});
    return {};
  }

  std::string_view text_;
  const std::string &source_;
  Diagnostics &diagnostics_;
  pugi::xml_document document_;
  std::string folder_; // with a slash at its end; empty if names are read as they are
  FileRows rows_;
  size_t branches_ = 0; // of all lines
  std::vector<FileCoverage> files_;
  // By filename, the name of its class, or nothing if it has several.
  SeededMap<std::string_view, std::string_view> only_classes_;
  SeededSet<std::string_view> lines_of_class_; // their numbers, as the file has them
  SeededMap<std::string_view, SeededSet<std::string_view>> lines_of_file_;
  uint64_t lines_of_classes_ = 0;
  // Whether lines that only methods have count. Istanbul's methods have the line in which the
  // function begins, which its totals do not count.
  bool methods_have_lines_ = true;
};

} // namespace

bool probe(std::string_view head) {
  head.remove_prefix(std::min(head.find_first_not_of("\xEF\xBB\xBF \t\r\n"), head.size()));
  if (!head.starts_with('<'))
    return false;
  // The element of Clover and SonarQube has the same name, but no rates and no packages.
  const size_t root = head.find("<coverage");
  return root != head.npos &&
         (head.find("line-rate=", root) != head.npos || head.find("<packages", root) != head.npos ||
          head.find("cobertura") < root);
}

Result<Coverage> read(ByteSource &source, Diagnostics &diagnostics) {
  TALLY_TRY(text, source.rest());
  return Reader(text, source.name(), diagnostics).run();
}

} // namespace tally::cobertura
