//===- TestFiles.h - Files that tests write and find ------------*- C++ -*-===//
//
// A folder that goes away with the test, builders for the bytes of both
// weight formats, and the way to the shared assets.
//
//===----------------------------------------------------------------------===//

#ifndef TANDEM_TEST_UNIT_FILES_TESTFILES_H
#define TANDEM_TEST_UNIT_FILES_TESTFILES_H

#include "runtime/base/Status.h"

#include <cstdint>
#include <filesystem>
#include <fstream>
#include <gtest/gtest.h>
#include <sstream>
#include <string>
#include <unistd.h>

namespace tandem::test {

/// A temporary folder, removed with everything in it at the end of the scope.
class Folder {
public:
  Folder() {
    std::string pattern =
        (std::filesystem::temp_directory_path() / "tandem-files-XXXXXX")
            .string();
    path_ = ::mkdtemp(pattern.data());
  }
  ~Folder() {
    std::error_code error;
    std::filesystem::remove_all(path_, error);
  }
  std::string operator/(const std::string &name) const {
    return path_ + "/" + name;
  }
  const std::string &path() const { return path_; }
  /// Writes a file and returns its path.
  std::string write(const std::string &name, const std::string &bytes) const {
    std::ofstream(*this / name, std::ios::binary) << bytes;
    return *this / name;
  }

private:
  std::string path_;
};

inline std::string readWhole(const std::string &path) {
  std::ostringstream bytes;
  bytes << std::ifstream(path, std::ios::binary).rdbuf();
  return bytes.str();
}

/// The path of a shared asset; empty where the assets are missing.
inline std::string asset(const std::string &name) {
  std::string path = std::string(TANDEM_ASSETS) + "/" + name;
  return std::filesystem::exists(path) ? path : "";
}

#define TANDEM_ASSET_OR_SKIP(variable, name)                                   \
  std::string variable = ::tandem::test::asset(name);                          \
  if (variable.empty())                                                        \
  GTEST_SKIP() << "the shared assets are missing: no " << name << " in "       \
               << TANDEM_ASSETS

/// Fails with the message of a Status or Result that should be OK.
#define ASSERT_OK(expression)                                                  \
  ASSERT_TRUE((expression).ok()) << ::tandem::test::messageOf(expression)

inline std::string messageOf(const Status &status) { return status.message(); }
template <typename T> std::string messageOf(const Result<T> &result) {
  return result.status().message();
}

/// Expects a refusal whose message holds `part`.
template <typename T>
void expectRefusal(const T &result, const std::string &part) {
  ASSERT_FALSE(result.ok()) << "accepted, expected: " << part;
  EXPECT_NE(messageOf(result).find(part), std::string::npos)
      << "message:  " << messageOf(result) << "\nexpected: " << part;
}

/// Bytes of little-endian values, put together one after another.
class Bytes {
public:
  template <typename T> Bytes &put(T value) {
    text_.append(reinterpret_cast<const char *>(&value), sizeof value);
    return *this;
  }
  Bytes &raw(const std::string &bytes) {
    text_ += bytes;
    return *this;
  }
  /// A GGUF string: its length and its bytes.
  Bytes &string(const std::string &bytes) {
    return put<uint64_t>(bytes.size()).raw(bytes);
  }
  Bytes &padTo(size_t alignment) {
    text_.resize((text_.size() + alignment - 1) / alignment * alignment);
    return *this;
  }
  const std::string &text() const { return text_; }

private:
  std::string text_;
};

/// A safetensors file of this header and `dataBytes` zero bytes.
inline std::string safetensors(const std::string &header, size_t dataBytes) {
  return Bytes()
      .put<uint64_t>(header.size())
      .raw(header)
      .raw(std::string(dataBytes, '\0'))
      .text();
}

} // namespace tandem::test

#endif // TANDEM_TEST_UNIT_FILES_TESTFILES_H
