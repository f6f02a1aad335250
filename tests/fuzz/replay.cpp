// Runs a fuzz target without libFuzzer: over every file of a corpus, then over mutations of them. The mutations
// depend on nothing but the seed, so a failure comes back with the same arguments.
//
//   replay_<target> CORPUS MUTATIONS [SEED]
//
// What aborts it is left in the file crash-input, as libFuzzer would leave it.
#include <algorithm>
#include <csignal>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <fcntl.h>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <random>
#include <string>
#include <unistd.h>
#include <vector>

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size);

namespace {

const std::string* running = nullptr;

// With calls that are safe in a signal handler.
void keep_input(int) {
  const int file = open("crash-input", O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);
  [[maybe_unused]] const ssize_t written = running == nullptr ? 0 : write(file, running->data(), running->size());
  _exit(1);
}

void run(const std::string& bytes) {
  running = &bytes;
  LLVMFuzzerTestOneInput(reinterpret_cast<const std::uint8_t*>(bytes.data()), bytes.size());
}

std::vector<std::string> read_corpus(const std::filesystem::path& folder) {
  std::vector<std::filesystem::path> paths;
  for (const auto& entry : std::filesystem::directory_iterator(folder)) paths.push_back(entry.path());
  std::ranges::sort(paths);
  std::vector<std::string> corpus;
  for (const auto& path : paths) {
    std::ifstream in(path, std::ios::binary);
    corpus.emplace_back(std::istreambuf_iterator<char>(in), std::istreambuf_iterator<char>());
  }
  return corpus;
}

class Mutator {
 public:
  Mutator(std::uint64_t seed, const std::vector<std::string>& corpus) : random_(seed), corpus_(corpus) {}

  // A file of the corpus with one to four changes.
  std::string next() {
    std::string bytes = pick();
    for (std::size_t n = below(4) + 1; n > 0; --n) change(bytes);
    return bytes;
  }

 private:
  std::size_t below(std::size_t bound) { return static_cast<std::size_t>(random_() % bound); }
  const std::string& pick() { return corpus_[below(corpus_.size())]; }

  void change(std::string& bytes) {
    static const std::vector<std::string> kPieces = {"-1",
                                                     "0",
                                                     "2147483648",
                                                     "9223372036854775807",
                                                     "9223372036854775808",
                                                     "1e400",
                                                     "0.5",
                                                     "[",
                                                     "]",
                                                     "{",
                                                     "}",
                                                     "\"",
                                                     "\\u0000",
                                                     ",",
                                                     ":",
                                                     "\n",
                                                     "null",
                                                     "true",
                                                     std::string(1, '\0'),
                                                     "\xff",
                                                     "[[[[[[[[[[[[[[[[",
                                                     "{\"a\":"};
    const std::size_t at = below(bytes.size() + 1);
    const std::size_t length = below(std::min<std::size_t>(bytes.size() - at, 32) + 1);
    switch (below(6)) {
      case 0:
        bytes.insert(at, kPieces[below(kPieces.size())]);
        break;
      case 1:
        bytes.replace(at, length, kPieces[below(kPieces.size())]);
        break;
      case 2:
        bytes.erase(at, length);
        break;
      case 3:
        bytes.insert(at, bytes.substr(below(bytes.size() + 1), 64));
        break;
      case 4:
        bytes = bytes.substr(0, at) + tail_of(pick());
        break;
      default:
        if (at < bytes.size()) bytes[at] = static_cast<char>(bytes[at] ^ (1 << below(8)));
    }
  }
  std::string tail_of(const std::string& bytes) { return bytes.substr(below(bytes.size() + 1)); }

  std::mt19937_64 random_;
  const std::vector<std::string>& corpus_;
};

}  // namespace

int main(int argc, char** argv) {
  if (argc < 3) {
    std::fprintf(stderr, "usage: %s CORPUS MUTATIONS [SEED]\n", argv[0]);
    return 2;
  }
  for (const int end : {SIGABRT, SIGSEGV, SIGFPE}) std::signal(end, keep_input);
  const std::vector<std::string> corpus = read_corpus(argv[1]);
  if (corpus.empty()) {
    std::fprintf(stderr, "%s: no files\n", argv[1]);
    return 2;
  }
  for (const std::string& bytes : corpus) run(bytes);

  const long mutations = std::strtol(argv[2], nullptr, 10);
  Mutator mutator(argc > 3 ? std::strtoull(argv[3], nullptr, 10) : 1, corpus);
  for (long i = 0; i < mutations; ++i) run(mutator.next());
  std::printf("%zu files, %ld mutations\n", corpus.size(), mutations);
  return 0;
}
