// A queue in a power-of-two array: no allocation once grown.
#pragma once

#include <cstddef>
#include <vector>

namespace uvmsim {

template <class T>
class Ring {
 public:
  Ring() = default;
  Ring(const Ring& other) { *this = other; }
  Ring& operator=(const Ring& other) {
    if (this == &other) return *this;
    clear();
    for (std::size_t i = 0; i < other.size(); ++i) push(other[i]);
    return *this;
  }

  bool empty() const { return count_ == 0; }
  std::size_t size() const { return count_; }
  T& front() { return items_[head_]; }
  const T& front() const { return items_[head_]; }
  T& back() { return (*this)[count_ - 1]; }
  const T& back() const { return (*this)[count_ - 1]; }
  T& operator[](std::size_t i) { return items_[(head_ + i) & mask_]; }
  const T& operator[](std::size_t i) const { return items_[(head_ + i) & mask_]; }
  void push(const T& item) { push() = item; }
  // A new last item, for the caller to fill: one that was put together just before is slow to copy, all of it at once.
  T& push() {
    if (count_ == items_.size()) grow();
    return items_[(head_ + count_++) & mask_];
  }
  void push_front(const T& item) {
    if (count_ == items_.size()) grow();
    head_ = (head_ - 1) & mask_;
    items_[head_] = item;
    ++count_;
  }
  void pop_back() { --count_; }
  void pop(std::size_t n = 1) {
    count_ -= n;
    head_ = count_ == 0 ? 0 : (head_ + n) & mask_;  // an empty one starts anew: in what the cache still has
  }
  // The first `n` become the last.
  void rotate(std::size_t n) {
    for (; n > 0; --n) {
      const T item = front();
      pop();
      push(item);
    }
  }
  void clear() { head_ = count_ = 0; }

 private:
  void grow() {
    std::vector<T> larger(items_.empty() ? 16 : items_.size() * 2);
    for (std::size_t i = 0; i < count_; ++i) larger[i] = (*this)[i];
    items_.swap(larger);
    head_ = 0;
    mask_ = items_.size() - 1;
  }

  std::vector<T> items_;
  std::size_t head_ = 0, count_ = 0, mask_ = 0;
};

}  // namespace uvmsim
