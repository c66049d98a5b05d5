// Writes XML with pugixml. Include this only where pugixml is available.
#pragma once

#include <concepts>
#include <string>
#include <string_view>
#include <utility>

#include <pugixml.hpp>

#include "support/xml_text.h"

namespace tally {

// A document that is built in memory and then written at once.
class XmlDocument {
public:
  explicit XmlDocument(std::string_view doctype = {}) {
    pugi::xml_node declaration = document_.append_child(pugi::node_declaration);
    put(declaration, "version", "1.0");
    put(declaration, "encoding", "UTF-8");
    if (!doctype.empty())
      document_.append_child(pugi::node_doctype).set_value(std::string(doctype).c_str());
  }

  pugi::xml_node root(const char *name) { return document_.append_child(name); }

  void put(pugi::xml_node to, const char *attribute, std::string_view value) {
    to.append_attribute(attribute).set_value(xml_text(value, changed_).c_str());
  }
  void put(pugi::xml_node to, const char *attribute, std::integral auto value) {
    to.append_attribute(attribute).set_value(value);
  }
  void put_text(pugi::xml_node to, std::string_view text) {
    to.text().set(xml_text(text, changed_).c_str());
  }

  // Returns whether some text contained characters that XML cannot represent.
  bool changed() const { return changed_; }

  std::string bytes() const {
    struct Sink final : pugi::xml_writer {
      std::string out;
      void write(const void *data, size_t size) override {
        out.append(static_cast<const char *>(data), size);
      }
    } sink;
    document_.save(sink, "  ", pugi::format_indent, pugi::encoding_utf8);
    return std::move(sink.out);
  }

private:
  pugi::xml_document document_;
  bool changed_ = false;
};

} // namespace tally
