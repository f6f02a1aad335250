// Quantities over time in bounded memory, without losing peaks.
#pragma once

#include <vector>

#include "base/units.h"

namespace uvmsim {

// One stretch of a series, for a picture: all stretches of a series are equally long.
struct SeriesPoint {
  double mean = 0;
  double peak = 0;  // the highest mean (FlowSeries) or value (LevelSeries) in any of the windows it is made of
};

// A series as at most this many points, `step` apart, from its origin on. The same origin, end and number of points
// give the same step, whatever the series.
struct SeriesPicture {
  Duration step{};
  std::vector<SeriesPoint> points;
};

// Equal windows from `origin` on. When they no longer reach, each two become one: there are kWindows at most, and more
// than half of them are in use after the first doubling.
class SeriesWindows {
 public:
  static constexpr std::size_t kWindows = 8192;
  static constexpr Duration kFirstWidth{10'000'000};  // 10 us

  Time origin() const { return origin_; }

 protected:
  explicit SeriesWindows(Time origin) : origin_(origin) {}
  ~SeriesWindows() = default;
  std::size_t index(Time at) const { return static_cast<std::size_t>((at - origin_) / width_); }
  // Windows per point, so that at most `points` of them cover everything until `until`.
  std::size_t per_point(Time until, std::size_t points) const;
  bool reaches(Time at) const { return (at - origin_) / width_ < static_cast<std::int64_t>(kWindows); }

  Time origin_;
  Duration width_ = kFirstWidth;
};

// An amount that flows: bytes, faults. Its points are rates per second; a peak is the rate over one window.
class FlowSeries : public SeriesWindows {
 public:
  explicit FlowSeries(Time origin = {}) : SeriesWindows(origin) {}
  // `amount` came evenly between `begin` and `end`, or at once. What came before the origin is left out.
  void add(Time begin, Time end, double amount);
  double total() const;
  SeriesPicture picture(Time until, std::size_t most) const;

 private:
  void fold();
  std::vector<double> amounts_;
};

// A value that holds until the next: bytes resident. Its points are means over time; a peak is the highest value.
class LevelSeries : public SeriesWindows {
 public:
  explicit LevelSeries(Time origin = {}) : SeriesWindows(origin) {}
  // From `at` on, not before the call before this one, the value is `value`.
  void set(Time at, double value);
  double value() const { return value_; }
  SeriesPicture picture(Time until, std::size_t most) const;

 private:
  struct Window {
    double area = 0;  // value x seconds
    double highest = 0;
  };
  void hold_until(Time at);
  void fold();
  std::vector<Window> windows_;
  Time last_{};
  double value_ = 0;
};

}  // namespace uvmsim
