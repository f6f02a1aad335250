#include "workload/generators/dnn/classifier.h"

namespace uvmsim::dnn {
namespace {

class ClassifierGenerator final : public TrainingGenerator<ClassifierParameters> {
 public:
  ClassifierGenerator(const Classifier& classifier, const Description& description)
      : classifier_(classifier), description_(description) {
    static_cast<TrainingParameters&>(p_) = classifier.defaults;
    p_.image = classifier.image;
  }

  const Description& description() const override { return description_; }

  trace::Trace generate(int iterations) const override {
    return train_classifier(classifier_.name, classifier_.forward, p_, iterations);
  }

 private:
  const Classifier& classifier_;  // both are the registry's
  const Description& description_;
};

Description describe(const Classifier& classifier) {
  const Range image{static_cast<double>(classifier.smallest_image), {}};
  return describe_training<ClassifierParameters>(classifier.summary, classifier.max_pools)
      .integer("image", &ClassifierParameters::image, classifier.image_doc, image, "pixels")
      .build();
}

}  // namespace

trace::Trace train_classifier(const std::string& name, const Classify& forward, const ClassifierParameters& p,
                              int iterations) {
  const Shape images = {p.batch, 3, p.image, p.image};
  const auto input = [images](Recorder& r) { return Tensor(r, images, r.type(), TensorKind::Input); };
  const auto target = [&p](Recorder& r) { return Tensor(r, {p.batch}, DataType::Int64, TensorKind::Input); };
  return train({.name = name, .input = input, .target = target, .forward = forward}, p, iterations);
}

bool register_classifier(Classifier classifier) {
  return add_plug_in<Generator, ClassifierGenerator>(
      {.name = classifier.name, .summary = classifier.summary, .source = classifier.source}, classifier,
      describe(classifier));
}

}  // namespace uvmsim::dnn
