#include <algorithm>
#include <cmath>
#include <map>

#include <fmt/format.h>

#include "formats/flamegraph/assets.h"
#include "formats/flamegraph/flamegraph.h"
#include "formats/flamegraph/layout.h"
#include "support/own_name.h"
#include "support/path.h"
#include "support/significance.h"
#include "support/sort.h"
#include "support/text.h"
#include "support/text_sink.h"
#include "support/xml_text.h"
#include "transform/difference.h"
#include "transform/event_units.h"
#include "transform/owner_roots.h"

namespace tally::flamegraph {

namespace {

// Sizes in pixels. The script lays out the picture again to fit the window. Where scripts do not
// run, the picture keeps these sizes.
constexpr double picture_width = 1200, margin = 10, row_height = 18, legend_height = 20;
constexpr double character = 7.25;    // width in the font of style.css: 0.602 em of 12 px
constexpr size_t longest_text = 1000; // names from the C++ library reach several hundred
constexpr size_t most_colours = 8;    // c1 … c8 in style.css; c0 is for all other objects

bool begins_utf8(char c) { return (static_cast<unsigned char>(c) & 0xC0) != 0x80; }

// Returns at most `columns` columns of the text, which is valid UTF-8, with an ellipsis if it is
// shortened.
std::string cut_to(std::string_view text, size_t columns) {
  size_t used = 0, kept = 0; // kept: bytes that fit beside an ellipsis
  for (size_t at = 0; at < text.size(); ++at) {
    if (!begins_utf8(text[at]))
      continue;
    if (used < columns)
      kept = at;
    // East Asian characters are two columns wide. Count every character of three or more bytes as
    // two columns, because only characters of one or two bytes (Latin, Greek, Cyrillic and others)
    // are surely narrow.
    used += static_cast<unsigned char>(text[at]) >= 0xE0 ? 2 : 1;
    if (used > columns)
      return std::string(text.substr(0, kept)) + "…";
  }
  return std::string(text);
}

std::string number(double pixels) {
  std::string text = fmt::format("{:.2f}", pixels);
  text.erase(text.find_last_not_of('0') + 1);
  if (text.ends_with('.'))
    text.pop_back();
  return text;
}

std::string percent(int64_t part, int64_t whole) {
  return fmt::format("{:.2f}%", 100 * static_cast<double>(part) / static_cast<double>(whole));
}

std::string duration(uint64_t period_ns) {
  const auto ns = static_cast<double>(period_ns);
  return ns >= 1e6   ? fmt::format("{:.4g} ms", ns / 1e6)
         : ns >= 1e3 ? fmt::format("{:.4g} µs", ns / 1e3)
                     : fmt::format("{} ns", period_ns);
}

// Returns `name` if it fits in `columns`. Otherwise returns `own`, the name without scopes and
// parameters, shortened if necessary.
std::string fitting(const std::string &name, const std::string &own, size_t columns) {
  const std::string whole = cut_to(name, columns);
  return whole == name ? whole : cut_to(own, columns);
}

std::string frames(uint64_t count) {
  return fmt::format("{} frame{}", count, count == 1 ? "" : "s");
}

// Returns the shade (v0 … v2 in style.css) of a function. The shade depends only on the name, so
// that a function has the same shade everywhere.
uint32_t shade_of(std::string_view name) {
  uint32_t hash = 0;
  for (const char c : name)
    hash = hash * 31 + static_cast<unsigned char>(c);
  return hash % 3;
}

// The largest change of the share of a function's own samples, in percentage points.
struct LargestChanges {
  double more = 0, less = 0;
};
constexpr int change_levels = 5; // m1 … m5 and l1 … l5 in difference.css

struct LegendEntry {
  std::string text, title, colour; // the colour is a class of style.css or difference.css
  double x = 0, y = 0;
};

class Picture {
public:
  Picture(const StackProfile &profile, const Layout &layout, std::string_view title,
          std::string &out)
      : profile_(profile), layout_(layout),
        title_(title.empty() ? profile.strings[profile.command] : title), to_(out) {
    unit_ = clean(differing_event(profile).value_or(
        std::string(profile.strings[profile.value_types().front().type])));
    if (unit_.empty())
      unit_ = "samples";
  }

  void write();
  std::vector<std::string> lost() const;

private:
  std::string clean(std::string_view text) { return xml_text(text, changed_); }
  std::string clean_and_cut(std::string_view text) {
    std::string whole = clean(text);
    std::string shorter = cut_to(whole, longest_text);
    was_cut_ |= shorter != whole;
    return shorter;
  }
  double top_of(uint32_t depth) const { return head_ + (layout_.depth - depth) * row_height; }

  double share_change(int64_t after, int64_t before) const;
  // Returns how much the function's own share has grown; 0 if it may be chance.
  double own_change(const Box &box) const;
  std::string changed_value(int64_t after, int64_t before) const;
  // Returns the colour of a change of the function's own share. Its callees have their own colours.
  std::string change_class(double change) const;
  void measure_changes();
  void choose_colours();
  std::vector<std::string> notes() const;
  void head(const std::vector<std::string> &lines);
  void frame(const Box &box);
  void place_legend();
  void legend(double top);

  const StackProfile &profile_;
  const Layout &layout_;
  const std::string_view title_;
  TextSink to_;
  std::string unit_;
  std::map<std::string_view, size_t> colour_of_; // by the object's name
  LargestChanges changes_;
  double sample_ = 0;   // the value of one sample; 0 if it is unknown
  double critical_ = 0; // see least_change_of_shares()
  std::vector<LegendEntry> legend_;
  double head_ = 0;
  bool changed_ = false, was_cut_ = false;
};

// Returns how much the share of the total has grown, in percentage points; exactly 0 if it is
// equal.
double Picture::share_change(int64_t after, int64_t before) const {
  const auto share = [](int64_t part, int64_t whole) {
    return whole == 0 ? 0 : 100 * static_cast<double>(part) / static_cast<double>(whole);
  };
  const auto cross = [](int64_t a, int64_t b) { return static_cast<__int128>(a) * b; };
  if (layout_.total_before != 0 &&
      cross(after, layout_.total_before) == cross(before, layout_.total))
    return 0;
  return share(after, layout_.total) - share(before, layout_.total_before);
}

double Picture::own_change(const Box &box) const {
  const double change = share_change(box.self, box.self_before);
  if (sample_ == 0 || layout_.total_before == 0)
    return change;
  const auto samples = [&](int64_t value) { return static_cast<double>(value) / sample_; };
  const double least = 100 * least_change_of_shares(samples(box.self), samples(layout_.total),
                                                    samples(box.self_before),
                                                    samples(layout_.total_before), critical_);
  return std::abs(change) > least ? change : 0;
}

// Returns "40 ticks, 40.00%; before 30, 37.50% (+2.50)".
std::string Picture::changed_value(int64_t after, int64_t before) const {
  return fmt::format(
      "{} {}, {}; before {}, {} ({:+.2f})", after, unit_, percent(after, layout_.total), before,
      percent(before, std::max<int64_t>(1, layout_.total_before)), share_change(after, before));
}

std::string Picture::change_class(double change) const {
  if (change == 0)
    return "same";
  const double share = std::abs(change) / std::max(changes_.more, changes_.less);
  return fmt::format(
      "{}{}", change > 0 ? 'm' : 'l',
      std::clamp(static_cast<int>(std::ceil(share * change_levels)), 1, change_levels));
}

void Picture::measure_changes() {
  const auto own = std::ranges::count_if(
      layout_.boxes, [](const Box &box) { return box.self > 0 || box.self_before > 0; });
  // A change may be in two directions, and any of the functions may seem to change by chance.
  critical_ = critical_value(error_level / 2 / static_cast<double>(std::max<ptrdiff_t>(1, own)), 0);
  sample_ =
      size_of_a_sample(*differing_event(profile_),
                       profile_.strings[profile_.value_types().front().unit], profile_.period_ns);
  for (const Box &box : layout_.boxes) {
    const double change = own_change(box);
    changes_.more = std::max(changes_.more, change);
    changes_.less = std::max(changes_.less, -change);
  }
  const auto add = [&](double change, std::string_view word, std::string_view than) {
    if (change != 0)
      legend_.push_back(
          {fmt::format("itself {}, up to {:.2f} points", word, std::abs(change)),
           fmt::format("the share of the function's own samples is {} than before", than),
           change_class(change)});
  };
  add(changes_.more, "more", "larger");
  add(-changes_.less, "less", "smaller");
  legend_.push_back(
      {"itself the same",
       "the share of the function's own samples is as before, or differs no more than "
       "chance explains",
       "same"});
}

// Assigns a separate colour to each of the objects in which most samples were taken.
void Picture::choose_colours() {
  std::map<std::string_view, int64_t> self;
  for (size_t i = 0; i < layout_.frames.size(); ++i)
    self[layout_.frames[i].object] += layout_.self_of_frames[i];
  for (const Box &box : layout_.boxes)
    if (box.frame != none<uint32_t>)
      colour_of_[layout_.frames[box.frame].object] = 0;
  std::vector<std::string_view> objects;
  std::map<std::string_view, int> of_one_name;
  for (const auto &[object, colour] : colour_of_) {
    objects.push_back(object);
    ++of_one_name[base_name(object)];
  }
  sort_stably(objects, std::greater(), [&](std::string_view object) { return self[object]; });
  int64_t others = 0;
  for (size_t i = 0; i < objects.size(); ++i) {
    const std::string_view object = objects[i], name = base_name(object);
    if (i >= most_colours) {
      others += self[object];
      continue;
    }
    colour_of_[object] = i + 1;
    const std::string_view shown = object.empty()                          ? "unknown object"
                                   : of_one_name[name] > 1 || name.empty() ? object
                                                                           : name;
    legend_.push_back(
        {fmt::format("{} {}", cut_to(clean(shown), 60), percent(self[object], layout_.total)),
         clean_and_cut(object.empty() ? shown : object), fmt::format("c{}", i + 1)});
  }
  if (objects.size() > most_colours)
    legend_.push_back(
        {fmt::format("{} others {}", objects.size() - most_colours, percent(others, layout_.total)),
         "objects with fewer samples", "c0"});
}

std::vector<std::string> Picture::notes() const {
  std::vector<std::string> out;
  if (layout_.narrow > 0)
    out.push_back(fmt::format("{} too narrow ({} of all)", frames(layout_.narrow),
                              percent(layout_.narrow_value, layout_.total)));
  if (layout_.deep > 0)
    out.push_back(fmt::format("{} beyond the {}th of a stack ({} of all)", frames(layout_.deep),
                              Limits().depth, percent(layout_.deep_value, layout_.total)));
  if (layout_.gone > 0)
    out.push_back(fmt::format("{} only before the change ({} of all then)", frames(layout_.gone),
                              percent(layout_.gone_value, layout_.total_before)));
  return out;
}

void Picture::head(const std::vector<std::string> &lines) {
  to_.put("<g id=\"head\"><rect class=\"page\" width=\"100%\" height=\"");
  to_.put(number(head_));
  to_.put("\"/>\n");
  double y = 24;
  for (const std::string &line : lines) {
    to_.put(
        fmt::format("<text class=\"{}\" x=\"10\" y=\"{}\">", y < 25 ? "name" : "quiet", number(y)));
    to_.put(line);
    to_.put("</text>\n");
    y += row_height;
  }
  to_.put("</g>\n");
}

void Picture::frame(const Box &box) {
  const double scale = (picture_width - 2 * margin) / static_cast<double>(layout_.total);
  const double x = margin + static_cast<double>(box.begin) * scale;
  const double width = static_cast<double>(box.value) * scale;
  const double shown = std::max(width - (width > 3 ? 1 : 0), 0.5); // leaves a gap to the next box
  const double y = top_of(box.depth);
  const bool is_root = box.frame == none<uint32_t>;
  const TreeFrame root{"all", {}, {}, 0};
  const TreeFrame &frame = is_root ? root : layout_.frames[box.frame];
  const std::string name = clean_and_cut(frame.name);
  const std::string own = cut_to(own_name(clean(frame.name)), longest_text);

  to_.put("<g class=\"");
  if (is_root)
    to_.put("all");
  else
    to_.put(layout_.is_difference
                ? change_class(own_change(box))
                : fmt::format("c{} v{}", colour_of_[frame.object], shade_of(frame.name)));
  to_.put(fmt::format("\" data-f=\"{},{},{}\"", box.begin, box.value, box.depth));
  if (own != name)
    to_.put(fmt::format(" data-own=\"{}\"", xml_escaped(own)));
  to_.put("><title>");
  to_.put(xml_escaped(name));
  if (layout_.is_difference) {
    to_.put('\n' + changed_value(box.value, box.before));
    if (box.self > 0 || box.self_before > 0)
      to_.put("\nitself " + changed_value(box.self, box.self_before));
  } else {
    to_.put(fmt::format("\n{} {}, {}", box.value, unit_, percent(box.value, layout_.total)));
    if (box.self > 0 && box.self != box.value)
      to_.put(fmt::format("; itself {}, {}", box.self, percent(box.self, layout_.total)));
  }
  if (!frame.file.empty()) {
    to_.put('\n');
    to_.put(xml_escaped(clean_and_cut(frame.file)));
    if (frame.line > 0)
      to_.put(fmt::format(":{}", frame.line));
  }
  if (!frame.object.empty()) {
    to_.put('\n');
    to_.put(xml_escaped(clean_and_cut(frame.object)));
  }
  if (box.inlined)
    to_.put("\ninlined");
  if (box.cut)
    to_.put(fmt::format("\nstacks continue beyond this {}th frame, but are not drawn", box.depth));
  to_.put(fmt::format("</title><rect x=\"{}\" y=\"{}\" width=\"{}\" height=\"{}\"/>", number(x),
                      number(y), number(shown), number(row_height - 1)));
  if (const double columns = (width - 6) / character; columns >= 3)
    to_.put(fmt::format("<text x=\"{}\" y=\"{}\">{}</text>", number(x + 3), number(y + 13),
                        xml_escaped(fitting(name, own, static_cast<size_t>(columns)))));
  if (box.cut)
    to_.put(
        fmt::format("<path class=\"cut\" d=\"M{} {}h{}\"/>", number(x), number(y), number(shown)));
  to_.put("</g>\n");
}

// Places the entries of the legend side by side, in as many lines as necessary.
void Picture::place_legend() {
  double x = margin, y = 0;
  for (LegendEntry &entry : legend_) {
    const auto columns = static_cast<double>(std::ranges::count_if(entry.text, begins_utf8));
    const double width = 30 + columns * character;
    if (x > margin && x + width > picture_width - margin) {
      x = margin;
      y += legend_height;
    }
    entry.x = x;
    entry.y = y;
    x += width;
  }
}

void Picture::legend(double top) {
  to_.put("<g id=\"legend\">\n");
  for (const LegendEntry &entry : legend_)
    to_.put(fmt::format("<g class=\"{}\" transform=\"translate({} {})\"><title>{}</title>"
                        "<rect width=\"12\" height=\"12\"/><text x=\"18\" y=\"10\">{}</text></g>\n",
                        entry.colour, number(entry.x), number(top + entry.y),
                        xml_escaped(entry.title), xml_escaped(entry.text)));
  to_.put("</g>\n");
}

void Picture::write() {
  if (layout_.is_difference)
    measure_changes();
  else
    choose_colours();
  place_legend();
  const std::string text = clean(title_);
  const std::string title = xml_escaped(cut_to(text.empty() ? "Flame graph" : text, 130));
  std::vector<std::string> lines{title, xml_escaped(fmt::format("{} {}", layout_.total, unit_))};
  if (layout_.is_difference)
    lines[1] += fmt::format(", {} before; coloured by the change of the function's own share",
                            layout_.total_before);
  else if (profile_.period_ns > 0)
    lines[1] += fmt::format(", {} each", duration(profile_.period_ns));
  if (const auto missing = notes(); !missing.empty())
    lines.push_back(fmt::format("Not drawn: {}", joined_text(missing, ", ")));
  head_ = 14 + static_cast<double>(lines.size()) * row_height;
  const double legend_top = head_ + (layout_.depth + 1) * row_height + 12;
  const double height =
      legend_top + (legend_.empty() ? 0 : legend_.back().y) + legend_height + margin;

  to_.put(fmt::format("<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n"
                      "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{0}\" height=\"{1}\" "
                      "viewBox=\"0 0 {0} {1}\" data-total=\"{2}\" data-size=\"{3},{4},{5}\">\n"
                      "<title>{6}</title>\n<style><![CDATA[\n{7}{8}]]></style>\n"
                      "<rect class=\"page\" width=\"100%\" height=\"100%\"/>\n<g id=\"frames\">\n",
                      number(picture_width), number(height), layout_.total, number(row_height),
                      number(head_), layout_.depth, title, style_css,
                      layout_.is_difference ? difference_css : std::string_view()));
  for (const Box &box : layout_.boxes)
    frame(box);
  to_.put("</g>\n");
  legend(legend_top);
  head(lines);
  to_.put("<script><![CDATA[\n");
  to_.put(script_js);
  to_.put("]]></script>\n</svg>\n");
  to_.flush();
}

std::vector<std::string> Picture::lost() const {
  std::vector<std::string> lost = notes();
  if (profile_.has_places())
    lost.emplace_back("addresses, and all lines except those of functions");
  if (profile_.threads().size() > 1)
    lost.emplace_back("the thread of each sample");
  if (profile_.parts().size() > 1)
    lost.emplace_back("the parts (their sum is drawn)");
  if (profile_.value_types().size() > 1 && !layout_.is_difference)
    lost.emplace_back("all values but the first");
  if (was_cut_)
    lost.push_back(fmt::format("the ends of names longer than {} characters", longest_text));
  if (changed_)
    lost.emplace_back(xml_text_changed);
  return lost;
}

Result<Written> draw(const StackProfile &profile, std::string_view title) {
  TALLY_TRY(layout, lay_out(profile));
  Written out;
  Picture picture(profile, layout, title, out.bytes);
  picture.write();
  out.lost = picture.lost();
  return out;
}

} // namespace

Result<Written> write(const StackProfile &profile, const WriteOptions &options) {
  if (!has_named_processes(profile))
    return draw(profile, options.title);
  TALLY_TRY(rooted, under_owners(profile, SampleOwner::process));
  return draw(rooted, options.title);
}

} // namespace tally::flamegraph
