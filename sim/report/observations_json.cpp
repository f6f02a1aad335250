#include "report/observations_json.h"

#include <algorithm>
#include <cmath>

#include "report/json_fields.h"

namespace uvmsim {
namespace {

constexpr std::size_t kMostStalled = 40;
constexpr std::array<const char*, kGpuSeries> kSeriesKeys = {"resident_bytes",  "fault_entries_per_s",
                                                             "batches_per_s",   "bytes_in_per_s",
                                                             "bytes_out_per_s", "evicted_bytes_per_s"};

// To five significant digits.
double rounded(double value) {
  if (value == 0 || !std::isfinite(value)) return 0;
  const double scale = std::pow(10.0, 4 - std::floor(std::log10(std::abs(value))));
  return std::round(value * scale) / scale;
}

// Whole numbers are written as such: they are shorter.
OrderedJson number(double value) {
  const double r = rounded(value);
  if (std::abs(r) < 9e15 && r == std::floor(r)) return static_cast<std::int64_t>(r);
  return r;
}

OrderedJson json_of(const SeriesPicture& picture) {
  OrderedJson json;
  json["mean"] = OrderedJson::array();
  json["peak"] = OrderedJson::array();
  for (const SeriesPoint& point : picture.points) {
    json["mean"].push_back(number(point.mean));
    json["peak"].push_back(number(point.peak));
  }
  return json;
}

OrderedJson json_of(const KernelObservations& kernel) {
  OrderedJson json;
  json["name"] = kernel.name;
  json["count"] = kernel.count;
  json["in_core_s"] = rounded(seconds(kernel.in_core));
  json["fault_cpu_s"] = rounded(seconds(kernel.time.fault_cpu));
  json["eviction_s"] = rounded(seconds(kernel.time.eviction));
  json["copy_in_s"] = rounded(seconds(kernel.time.copy_in));
  json["link_wait_s"] = rounded(seconds(kernel.time.link_wait));
  json["compute_s"] = rounded(seconds(kernel.time.compute));
  return json;
}

KernelObservations sum_of(std::span<const KernelObservations> kernels) {
  KernelObservations sum;
  sum.name = std::to_string(kernels.size()) + " others";
  for (const KernelObservations& k : kernels) {
    sum.count += k.count;
    sum.in_core += k.in_core;
    sum.time += k.time;
  }
  return sum;
}

OrderedJson json_of(const TensorObservations& tensor) {
  OrderedJson json;
  json["label"] = tensor.label;
  json["faults"] = tensor.faults;
  json["batch_s"] = rounded(tensor.batch_s);
  return json;
}

TensorObservations sum_of(std::span<const TensorObservations> tensors) {
  TensorObservations sum{.label = std::to_string(tensors.size()) + " others"};
  for (const TensorObservations& t : tensors) {
    sum.faults += t.faults;
    sum.batch_s += t.batch_s;
  }
  return sum;
}

// The first few, and the sum of the rest.
template <class T>
OrderedJson most_stalled(const std::vector<T>& sorted) {
  OrderedJson list = OrderedJson::array();
  const std::size_t shown = std::min(sorted.size(), kMostStalled);
  for (std::size_t i = 0; i < shown; ++i) list.push_back(json_of(sorted[i]));
  if (shown < sorted.size()) list.push_back(json_of(sum_of(std::span(sorted).subspan(shown))));
  return list;
}

OrderedJson json_of_residency(const Observations& o) {
  OrderedJson json;
  json["gpu"] = o.watched_gpu.value;
  json["begin_s"] = seconds(o.watched_begin);
  json["end_s"] = seconds(o.watched_end);
  json["sampled_s"] = OrderedJson::array();
  for (const Time at : o.sampled) json["sampled_s"].push_back(rounded(seconds(at - o.watched_begin)));
  json["tensors"] = OrderedJson::array();
  for (const ObservedTensor& life : o.lives) {
    OrderedJson tensor;
    tensor["label"] = life.label;
    tensor["bytes"] = life.bytes;
    tensor["first_use_s"] = rounded(seconds(life.first_use - o.watched_begin));
    tensor["last_use_s"] = rounded(seconds(life.last_use - o.watched_begin));
    tensor["resident"] = life.resident;
    json["tensors"].push_back(std::move(tensor));
  }
  return json;
}

}  // namespace

std::string to_json(const Observations& o) {
  OrderedJson json;
  json["version"] = 1;
  json["end_s"] = seconds(o.end);
  json["step_s"] = o.gpus.empty() ? 0 : seconds(o.gpus.front().series.front().step);
  json["iterations"] = OrderedJson::array();
  for (const IterationMark& mark : o.iterations)
    json["iterations"].push_back({{"gpu", mark.gpu.value}, {"index", mark.index}, {"at_s", seconds(mark.at)}});
  json["gpus"] = OrderedJson::array();
  for (const GpuObservations& gpu : o.gpus) {
    OrderedJson one;
    for (std::size_t i = 0; i < kGpuSeries; ++i) one[kSeriesKeys[i]] = json_of(gpu.series[i]);
    json["gpus"].push_back(std::move(one));
  }
  json["reserved_bytes"] = OrderedJson::array();
  for (const SeriesPicture& picture : o.reserved) json["reserved_bytes"].push_back(json_of(picture));
  json["links"] = OrderedJson::array();
  for (const LinkObservations& link : o.links) {
    OrderedJson one;
    one["name"] = link.name;
    one["bandwidth"] = link.bandwidth;
    one["bytes_per_s"] = json_of(link.carried);
    json["links"].push_back(std::move(one));
  }
  json["kernels"] = most_stalled(o.kernels);
  json["tensors"] = most_stalled(o.tensors);
  json["residency"] = json_of_residency(o);
  return json.dump() + "\n";
}

}  // namespace uvmsim
