// PyTorch 1.0's allocator against the same rules in their slowest form: every segment is a list of pieces, every
// search looks at all of them.
#include <gtest/gtest.h>
#include <list>
#include <random>
#include <tuple>
#include <vector>

#include "support/fake_upstream.h"
#include "support/sizes.h"

namespace uvmsim {
namespace {

class SlowTorch10 {
 public:
  explicit SlowTorch10(UpstreamMemory& upstream) : upstream_(upstream) {}

  std::optional<VirtualAddress> allocate(std::int64_t bytes, int stream) {
    const std::int64_t unit = bytes >= kMiB ? 128 << 10 : 512;
    const std::int64_t size = (bytes + unit - 1) / unit * unit;
    Piece* piece = best_fit(size, stream);
    if (!piece) piece = new_segment(size, stream);
    if (!piece) return std::nullopt;
    piece->used = true;
    cut(*piece, size);
    return piece->address;
  }

  void free(VirtualAddress address) {
    for (Segment& segment : segments_)
      for (Piece& piece : segment.pieces)
        if (piece.address == address) {
          piece.used = false;
          return merge(segment);
        }
    FAIL() << "not allocated";
  }

 private:
  struct Piece {
    VirtualAddress address;
    std::int64_t size;
    bool used;
  };
  struct Segment {
    bool small;
    int stream;
    std::list<Piece> pieces;
  };

  Piece* best_fit(std::int64_t size, int stream) {
    Piece* best = nullptr;
    for (Segment& segment : segments_) {
      if (segment.small != (size <= kMiB) || segment.stream != stream) continue;
      for (Piece& piece : segment.pieces) {
        if (piece.used || piece.size < size) continue;
        if (!best || std::tie(piece.size, piece.address) < std::tie(best->size, best->address)) best = &piece;
      }
    }
    return best;
  }

  Piece* new_segment(std::int64_t size, int stream) {
    const Bytes bytes{size <= kMiB ? kMiB : size};
    auto address = upstream_.allocate(bytes);
    if (!address) {
      for (auto s = segments_.begin(); s != segments_.end();) {
        const bool whole = s->pieces.size() == 1 && !s->pieces.front().used;
        if (whole) upstream_.free(s->pieces.front().address);
        s = whole ? segments_.erase(s) : std::next(s);
      }
      address = upstream_.allocate(bytes);
    }
    if (!address) return nullptr;
    segments_.push_back({size <= kMiB, stream, {{*address, bytes.value, false}}});
    return &segments_.back().pieces.front();
  }

  void cut(Piece& piece, std::int64_t size) {
    for (Segment& segment : segments_)
      for (auto p = segment.pieces.begin(); p != segment.pieces.end(); ++p) {
        if (&*p != &piece) continue;
        const std::int64_t rest = piece.size - size;
        if (segment.small ? rest < 512 : rest <= kMiB) return;
        piece.size = size;
        segment.pieces.insert(std::next(p), {piece.address + static_cast<VirtualAddress>(size), rest, false});
        return;
      }
  }

  static void merge(Segment& segment) {
    for (auto p = segment.pieces.begin(); std::next(p) != segment.pieces.end();) {
      const auto next = std::next(p);
      if (p->used || next->used) {
        ++p;
        continue;
      }
      p->size += next->size;
      segment.pieces.erase(next);
    }
  }

  UpstreamMemory& upstream_;
  std::list<Segment> segments_;
};

// Capacities from tight (many flushes, some failures) to unlimited.
TEST(Torch10, EqualsTheSlowestForm) {
  for (const std::int64_t capacity : {0, 16 << 20, 64 << 20, 300 << 20}) {
    std::mt19937_64 random(static_cast<std::uint64_t>(capacity) + 1);
    FakeUpstream fast_memory(capacity), slow_memory(capacity);
    const auto fast = make_allocator("torch_1_0", fast_memory);
    SlowTorch10 slow(slow_memory);
    std::vector<VirtualAddress> live;
    for (int step = 0; step < 5000; ++step) {
      if (live.empty() || random() % 9 < 5) {
        const auto bytes = static_cast<std::int64_t>(random() % (std::uint64_t{2} << (random() % 24))) + 1;
        const int stream = static_cast<int>(random() % 3 / 2);
        const auto address = fast->allocate({Bytes{bytes}, stream});
        ASSERT_EQ(address, slow.allocate(bytes, stream)) << "step " << step << ", capacity " << capacity;
        if (address) live.push_back(*address);
      } else {
        const std::size_t i = random() % live.size();
        fast->free(live[i]);
        slow.free(live[i]);
        live.erase(live.begin() + static_cast<std::ptrdiff_t>(i));
      }
      ASSERT_EQ(fast_memory.reserved(), slow_memory.reserved());
    }
  }
}

}  // namespace
}  // namespace uvmsim
