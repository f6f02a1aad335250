// What a sweep simulates: the points of its grid, each an experiment of its own.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "study/experiment.h"
#include "study/sweep/axis.h"

namespace uvmsim {

struct SweepSources {
  std::string config;                      // the path of the config, or what else `document` is
  std::optional<JsonValue> document = {};  // the config, merged; nullopt: it is read from its path
  std::vector<std::string> settings;       // "KEY=VALUE", of every point
  std::vector<std::string> axes;  // in the words of SWEEP.md; they take the place of the config's of the same keys
  std::string configs_folder;     // of the bundled machines, workloads and policies
  bool in_core = true;            // whether points get their in-core reference
};

struct SweepPoint {
  std::vector<std::string> values;  // of each of SweepPlan::keys(), as behind `--set KEY=`
  std::string hash;                 // of what is simulated: equal for points that do not differ
};

class SweepPlan {
 public:
  // Reads the config and every point of the grid once. Throws UserError with all errors; what is wrong in several
  // points is named once.
  explicit SweepPlan(SweepSources sources);

  const std::string& name() const { return name_; }
  const std::string& description() const { return description_; }
  const SweepSources& sources() const { return sources_; }
  const std::vector<SweepAxis>& axes() const { return axes_; }
  const std::vector<std::string>& keys() const { return keys_; }  // of all axes, in order
  // In the order of the grid: the last axis changes fastest.
  const std::vector<SweepPoint>& points() const { return points_; }

  // The experiment of one of the points.
  Experiment experiment(const SweepPoint& point) const;
  // "workload.batch=48 workload.dtype=fp32".
  std::string text_of(const SweepPoint& point) const;

 private:
  void read_axes(const JsonValue& document, std::vector<InputError>& errors);
  void read_named(std::vector<InputError>& errors);
  void make_points(std::vector<InputError>& errors);
  Experiment read(const SweepPoint& point, std::vector<InputError>& errors) const;
  std::string hash_of(const Experiment& experiment);

  SweepSources sources_;
  std::string name_, description_;
  JsonValue document_;  // the config, merged
  std::vector<SweepAxis> axes_;
  std::vector<std::string> keys_;
  // What the values of the keys machine, workload and policy name: by "machine=NAME".
  std::map<std::string, JsonValue, std::less<>> named_;
  std::map<std::string, std::string, std::less<>> trace_digests_;  // by path
  std::vector<SweepPoint> points_;
};

}  // namespace uvmsim
