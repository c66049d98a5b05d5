// Paths as URLs (RFC 8089, RFC 3986).
#pragma once

#include <string>
#include <string_view>

namespace tally::cpuprofile {

// Returns the URL of an absolute path. Any other text is returned unchanged.
std::string url_of(std::string_view path);
// Returns the path of a file's URL. Any other URL is returned unchanged.
std::string path_of(std::string_view url);

} // namespace tally::cpuprofile
