#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "report/coverage_badge.h"

namespace tally::report_coverage_badge_test {
namespace {

Coverage coverage_of(uint32_t ran, uint32_t all) {
  Coverage out;
  out.files.emplace_back().path = "/a.c";
  for (uint32_t i = 0; i < all; ++i)
    out.files[0].lines.push_back({i + 1, i < ran});
  return out;
}

TEST(CoverageBadge, HasAColorByThePercentage) {
  const auto color = [](uint32_t ran, uint32_t all) {
    return nlohmann::json::parse(to_shields(coverage_of(ran, all)))["color"].get<std::string>();
  };
  EXPECT_EQ(color(0, 0), "lightgrey");
  EXPECT_EQ(color(0, 1), "red");
  EXPECT_EQ(color(399, 1000), "red");
  EXPECT_EQ(color(400, 1000), "orange");
  EXPECT_EQ(color(6, 10), "yellow");
  EXPECT_EQ(color(7, 10), "yellowgreen");
  EXPECT_EQ(color(8, 10), "green");
  EXPECT_EQ(color(899, 1000), "green");
  EXPECT_EQ(color(9, 10), "brightgreen");
  EXPECT_EQ(color(1, 1), "brightgreen");
}

// The keys and their types are those of "Endpoint Badge" in the documentation of shields.io; all
// but the first three have defaults.
TEST(CoverageBadge, HasTheKeysOfAnEndpoint) {
  const auto json = nlohmann::json::parse(to_shields(coverage_of(5, 6)));
  EXPECT_EQ(
      json,
      (nlohmann::json{
          {"schemaVersion", 1}, {"label", "coverage"}, {"message", "83.3%"}, {"color", "green"}}));
}

TEST(CoverageBadge, SaysItsTextInATitle) {
  for (const auto &[coverage, title] : {std::pair(coverage_of(5, 6), "coverage: 83.3%"),
                                        {coverage_of(0, 0), "coverage: unknown"}}) {
    const std::string svg = to_badge(coverage);
    EXPECT_NE(svg.find(std::string("<title>") + title + "</title>"), svg.npos) << svg;
    EXPECT_NE(svg.find(std::string("aria-label=\"") + title + '"'), svg.npos) << svg;
    // Nothing is loaded: the only address is the name of the language.
    EXPECT_EQ(svg.find("http", svg.find("http") + 1), svg.npos) << svg;
    EXPECT_EQ(svg.find("href"), svg.npos) << svg;
  }
}

} // namespace
} // namespace tally::report_coverage_badge_test
