#include "workload/generators/dnn/classifier.h"

namespace uvmsim::dnn {
namespace {

struct Parameters : TrainingParameters {
  std::int64_t image = 0;
};

class ClassifierGenerator final : public TrainingGenerator<Parameters> {
 public:
  ClassifierGenerator(const Classifier& classifier, const Description& description)
      : classifier_(classifier), description_(description) {
    static_cast<TrainingParameters&>(p_) = classifier.defaults;
    p_.image = classifier.image;
  }

  const Description& description() const override { return description_; }

  trace::Trace generate(int iterations) const override {
    const auto input = [this](Recorder& r) {
      return Tensor(r, {p_.batch, 3, p_.image, p_.image}, r.type(), TensorKind::Input);
    };
    const auto target = [this](Recorder& r) { return Tensor(r, {p_.batch}, DataType::Int64, TensorKind::Input); };
    return train({.name = classifier_.name, .input = input, .target = target, .forward = classifier_.forward}, p_,
                 iterations);
  }

 private:
  const Classifier& classifier_;  // both are the registry's
  const Description& description_;
};

Description describe(const Classifier& classifier) {
  const Range image{static_cast<double>(classifier.smallest_image), {}};
  return describe_training<Parameters>(classifier.summary)
      .integer("image", &Parameters::image, classifier.image_doc, image, "pixels")
      .build();
}

}  // namespace

bool register_classifier(Classifier classifier) {
  return add_plug_in<Generator, ClassifierGenerator>(
      {.name = classifier.name, .summary = classifier.summary, .source = classifier.source}, classifier,
      describe(classifier));
}

}  // namespace uvmsim::dnn
