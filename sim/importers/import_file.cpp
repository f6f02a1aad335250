#include "importers/import_file.h"

#include <cerrno>
#include <fstream>
#include <sstream>
#include <system_error>

#include "base/user_error.h"
#include "trace/fault_list.h"

namespace uvmsim {
namespace {

// A source together with the stream that it reads.
class OwningSource final : public trace::ByteSource {
 public:
  explicit OwningSource(std::unique_ptr<std::istream> in) : in_(std::move(in)), source_(trace::open_source(*in_)) {}
  std::size_t read(char* into, std::size_t size) override { return source_->read(into, size); }

 private:
  std::unique_ptr<std::istream> in_;
  std::unique_ptr<trace::ByteSource> source_;
};

}  // namespace

std::unique_ptr<trace::ByteSource> ImportFile::open() const {
  std::unique_ptr<std::istream> in;
  if (in_memory_) {
    in = std::make_unique<std::istringstream>(bytes_);
  } else {
    errno = 0;
    in = std::make_unique<std::ifstream>(name_, std::ios::binary);
    if (!*in || in->peek() == std::ifstream::traits_type::eof()) {
      if (errno == 0) throw UserError(name_, "is empty");
      throw UserError(name_, "cannot be opened: " + std::generic_category().message(errno));
    }
  }
  return std::make_unique<OwningSource>(std::move(in));
}

std::string ImportFile::head() const {
  std::string head(kHead, '\0');
  std::size_t size = 0;
  try {
    const auto source = open();
    while (size < kHead) {
      const std::size_t count = source->read(head.data() + size, kHead - size);
      if (count == 0) break;
      size += count;
    }
  } catch (const trace::LineFault& fault) {
    throw UserError(name_, fault.message);
  }
  head.resize(size);
  return head;
}

}  // namespace uvmsim
