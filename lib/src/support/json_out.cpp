#include "support/json_out.h"

#include <fmt/format.h>

#include "support/json_text.h"

namespace tally {

JsonOut::JsonOut(std::string_view text) : text_(json_text(text)) {}

JsonOut::JsonOut(double number) : text_(json_text(number)) {}

JsonOut::JsonOut(std::initializer_list<Field> fields) : text_("{}") {
  for (const Field &field : fields)
    add(field.key, field.value);
}

JsonOut JsonOut::list() {
  JsonOut out;
  out.text_ = "[]";
  return out;
}

JsonOut JsonOut::object() { return JsonOut(std::initializer_list<Field>()); }

JsonOut JsonOut::of(int64_t number) {
  JsonOut out;
  out.text_ = fmt::format("{}", number);
  return out;
}

JsonOut JsonOut::of(uint64_t number) {
  JsonOut out;
  out.text_ = fmt::format("{}", number);
  return out;
}

void JsonOut::push_back(const JsonOut &value) { extend({}, value.text_); }

void JsonOut::add(std::string_view key, const JsonOut &value) {
  extend(json_text(key) + ':', value.text_);
}

// Adds an element in front of the bracket at the end.
void JsonOut::extend(std::string_view first, std::string_view second) {
  const char bracket = text_.back();
  text_.pop_back();
  if (size_++ > 0)
    text_ += ',';
  text_.append(first).append(second) += bracket;
}

} // namespace tally
