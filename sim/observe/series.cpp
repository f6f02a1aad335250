#include "observe/series.h"

#include <algorithm>
#include <numeric>

namespace uvmsim {

std::size_t SeriesWindows::per_point(Time until, std::size_t points) const {
  const std::size_t used = until <= origin_ ? 1 : index(until - Duration{1}) + 1;
  return std::max<std::size_t>(1, (used + points - 1) / points);
}

// --- flows

void FlowSeries::fold() {
  const std::size_t half = (amounts_.size() + 1) / 2;
  for (std::size_t i = 0; i < half; ++i)
    amounts_[i] = amounts_[2 * i] + (2 * i + 1 < amounts_.size() ? amounts_[2 * i + 1] : 0);
  amounts_.resize(half);
  width_ *= 2;
}

void FlowSeries::add(Time begin, Time end, double amount) {
  if (end < origin_ || amount == 0) return;
  while (!reaches(end)) fold();
  if (amounts_.size() <= index(end)) amounts_.resize(index(end) + 1);
  if (begin >= end) {
    amounts_[index(end)] += amount;
    return;
  }
  const double rate = amount / seconds(end - begin);
  for (Time from = std::max(begin, origin_); from < end;) {
    const std::size_t i = index(from);
    const Time to = std::min(end, origin_ + width_ * static_cast<std::int64_t>(i + 1));
    amounts_[i] += rate * seconds(to - from);
    from = to;
  }
}

double FlowSeries::total() const { return std::accumulate(amounts_.begin(), amounts_.end(), 0.0); }

SeriesPicture FlowSeries::picture(Time until, std::size_t most) const {
  FlowSeries all = *this;
  while (!all.reaches(until)) all.fold();
  const std::size_t windows = all.per_point(until, most);
  SeriesPicture picture{all.width_ * static_cast<std::int64_t>(windows), {}};
  for (Time at = origin_; at < until; at += picture.step) {
    double sum = 0, peak = 0;
    for (std::size_t i = all.index(at); i < std::min(all.index(at) + windows, all.amounts_.size()); ++i) {
      sum += all.amounts_[i];
      peak = std::max(peak, all.amounts_[i] / seconds(all.width_));
    }
    const double mean = sum / seconds(std::min(until - at, picture.step));
    picture.points.push_back({mean, std::max(mean, peak)});
  }
  return picture;
}

// --- levels

void LevelSeries::fold() {
  const std::size_t half = (windows_.size() + 1) / 2;
  for (std::size_t i = 0; i < half; ++i) {
    Window both = windows_[2 * i];
    if (2 * i + 1 < windows_.size()) {
      both.area += windows_[2 * i + 1].area;
      both.highest = std::max(both.highest, windows_[2 * i + 1].highest);
    }
    windows_[i] = both;
  }
  windows_.resize(half);
  width_ *= 2;
}

void LevelSeries::hold_until(Time at) {
  if (at <= origin_) return;
  while (!reaches(at)) fold();
  if (windows_.size() <= index(at)) windows_.resize(index(at) + 1);
  for (Time from = std::max(last_, origin_); from < at;) {
    Window& window = windows_[index(from)];
    const Time to = std::min(at, origin_ + width_ * static_cast<std::int64_t>(index(from) + 1));
    window.area += value_ * seconds(to - from);
    window.highest = std::max(window.highest, value_);
    from = to;
  }
}

void LevelSeries::set(Time at, double value) {
  hold_until(at);
  last_ = std::max(last_, at);
  value_ = value;
  if (at < origin_) return;
  while (!reaches(at)) fold();
  if (windows_.size() <= index(at)) windows_.resize(index(at) + 1);
  windows_[index(at)].highest = std::max(windows_[index(at)].highest, value);
}

SeriesPicture LevelSeries::picture(Time until, std::size_t most) const {
  LevelSeries all = *this;
  all.hold_until(until);
  const std::size_t windows = all.per_point(until, most);
  SeriesPicture picture{all.width_ * static_cast<std::int64_t>(windows), {}};
  for (Time at = origin_; at < until; at += picture.step) {
    SeriesPoint point;
    for (std::size_t i = all.index(at); i < std::min(all.index(at) + windows, all.windows_.size()); ++i) {
      point.mean += all.windows_[i].area;
      point.peak = std::max(point.peak, all.windows_[i].highest);
    }
    point.mean /= seconds(std::min(until - at, picture.step));
    picture.points.push_back(point);
  }
  return picture;
}

}  // namespace uvmsim
