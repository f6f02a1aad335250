// A file to import: its name for messages, and its bytes, from disk or from memory.
#pragma once

#include <memory>
#include <string>

#include "trace/bytes.h"

namespace uvmsim {

class ImportFile {
 public:
  // The file at `path`, which is opened when it is read.
  static ImportFile at(std::string path) { return ImportFile(std::move(path), "", false); }
  // `bytes` under the name `name`.
  static ImportFile of(std::string name, std::string bytes) {
    return ImportFile(std::move(name), std::move(bytes), true);
  }

  const std::string& name() const { return name_; }
  bool in_memory() const { return in_memory_; }
  const std::string& bytes() const { return bytes_; }  // of one in memory

  // The content from its start; gzip and zstd are unpacked, and a byte order mark is left out.
  // Throws UserError when the file cannot be opened.
  std::unique_ptr<trace::ByteSource> open() const;
  // The first bytes of the content, at most kHead: what formats are told apart by. Throws UserError as `open`, and for
  // broken gzip or zstd.
  std::string head() const;

  static constexpr std::size_t kHead = std::size_t{1} << 16;

 private:
  ImportFile(std::string name, std::string bytes, bool in_memory)
      : name_(std::move(name)), bytes_(std::move(bytes)), in_memory_(in_memory) {}

  std::string name_, bytes_;
  bool in_memory_;
};

}  // namespace uvmsim
