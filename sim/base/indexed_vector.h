// A vector whose elements are asked for by an index type of units.h, not by any integer.
#pragma once

#include <cstddef>
#include <initializer_list>
#include <iterator>
#include <utility>
#include <vector>

namespace uvmsim {

// The indices 0 .. outer - 1, ascending. std::views::iota would do, but clang 14 cannot compile libstdc++ 12's.
template <class I>
class IndexRange {
 public:
  class Iterator {
   public:
    using value_type = I;
    using difference_type = std::ptrdiff_t;

    Iterator() = default;
    explicit Iterator(I at) : at_(at) {}
    I operator*() const { return at_; }
    Iterator& operator++() {
      ++at_;
      return *this;
    }
    Iterator operator++(int) { return Iterator(at_++); }
    friend bool operator==(Iterator, Iterator) = default;

   private:
    I at_{};
  };

  explicit IndexRange(I outer) : outer_(outer) {}

  Iterator begin() const { return {}; }
  Iterator end() const { return Iterator(outer_); }
  bool empty() const { return outer_ == I{}; }

 private:
  I outer_;
};

// What there is of each thing that `I` counts: element I{0} first.
template <class I, class T>
class IndexedVector {
 public:
  using value_type = T;
  using reference = typename std::vector<T>::reference;
  using const_reference = typename std::vector<T>::const_reference;
  using iterator = typename std::vector<T>::iterator;
  using const_iterator = typename std::vector<T>::const_iterator;

  IndexedVector() = default;
  explicit IndexedVector(std::size_t size) : items_(size) {}
  IndexedVector(std::size_t size, const T& value) : items_(size, value) {}
  IndexedVector(std::initializer_list<T> items) : items_(items) {}
  template <std::input_iterator It>
  IndexedVector(It first, It last) : items_(first, last) {}

  // Requires: contains(index).
  reference operator[](I index) { return items_[place(index)]; }
  const_reference operator[](I index) const { return items_[place(index)]; }
  // Throws std::out_of_range unless contains(index).
  reference at(I index) { return items_.at(place(index)); }
  const_reference at(I index) const { return items_.at(place(index)); }
  bool contains(I index) const { return place(index) < items_.size(); }

  std::size_t size() const { return items_.size(); }
  bool empty() const { return items_.empty(); }
  // One past the last index.
  I outer() const { return I{static_cast<decltype(I::value)>(items_.size())}; }
  // Every index, ascending.
  IndexRange<I> indices() const { return IndexRange<I>(outer()); }

  iterator begin() { return items_.begin(); }
  iterator end() { return items_.end(); }
  const_iterator begin() const { return items_.begin(); }
  const_iterator end() const { return items_.end(); }
  reference front() { return items_.front(); }
  const_reference front() const { return items_.front(); }
  reference back() { return items_.back(); }
  const_reference back() const { return items_.back(); }

  void assign(std::size_t size, const T& value) { items_.assign(size, value); }
  void clear() { items_.clear(); }
  void reserve(std::size_t size) { items_.reserve(size); }
  void resize(std::size_t size) { items_.resize(size); }
  void resize(std::size_t size, const T& value) { items_.resize(size, value); }
  void push_back(const T& item) { items_.push_back(item); }
  void push_back(T&& item) { items_.push_back(std::move(item)); }
  template <class... Args>
  reference emplace_back(Args&&... args) {
    return items_.emplace_back(std::forward<Args>(args)...);
  }

  friend bool operator==(const IndexedVector&, const IndexedVector&) = default;

 private:
  static constexpr std::size_t place(I index) { return static_cast<std::size_t>(index.value); }

  std::vector<T> items_;
};

}  // namespace uvmsim
