// Image classifiers: what a model's file says, and the generator made from it.
#pragma once

#include <functional>
#include <string>

#include "workload/generators/dnn/training.h"

namespace uvmsim::dnn {

inline constexpr std::int64_t kImageNetClasses = 1000;

struct ClassifierParameters : TrainingParameters {
  std::int64_t image = 224;
};

// Images (N, 3, image, image) to logits.
using Classify = std::function<Tensor(Net&, const Tensor& images)>;

// Records `iterations` iterations of training `forward`.
trace::Trace train_classifier(const std::string& name, const Classify& forward, const ClassifierParameters& parameters,
                              int iterations);

struct Classifier {
  std::string name;
  std::string summary, source;  // as a registry's
  TrainingParameters defaults = {.batch = 32, .torch = "2.x"};
  std::int64_t image = 224;          // pixels of its width and height
  std::int64_t smallest_image = 32;  // that leaves every feature map at least a pixel
  std::string image_doc = "width and height of the input";
  bool max_pools = true;
  Classify forward;
};

// Registers the generator; true, for a static initialiser.
bool register_classifier(Classifier classifier);

}  // namespace uvmsim::dnn
