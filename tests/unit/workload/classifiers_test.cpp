// Convolutional models against what is published about them.
#include <gtest/gtest.h>
#include <string>

#include "support/generate.h"
#include "support/trace_totals.h"

namespace uvmsim {
namespace {

using testing_support::parameters_of;

struct Published {
  const char* model;
  std::int64_t parameters;
};

// torchvision's documentation of its weights ("num_params") for its models, with the auxiliary classifier of
// Inception-v3; Cadene/pretrained-models for SENet-154 and Inception-v4; the lucid documentation for DenseNet-264;
// milesial/Pytorch-UNet with 3 channels and 2 classes for U-Net. V-Net and ResNet-1001 were counted by the
// re-enactment of their public code that classifiers_reference_test.cpp compares with.
constexpr Published kPublished[] = {
    {"alexnet", 61'100'840},    {"convnext_b", 88'591'464},  {"convnext_l", 197'767'336},  {"convnext_s", 50'223'688},
    {"convnext_t", 28'589'128}, {"densenet264", 33'337'704}, {"inception_v3", 27'161'264}, {"inception_v4", 42'679'816},
    {"resnet1001", 10'327'706}, {"resnet101", 44'549'160},   {"resnet152", 60'192'808},    {"resnet50", 25'557'032},
    {"senet154", 115'088'984},  {"unet", 31'037'698},        {"vgg11", 132'863'336},       {"vgg16", 138'357'544},
    {"vgg19", 143'667'240},     {"vnet", 45'603'934},
};

TEST(Classifiers, HaveAsManyParametersAsPublished) {
  for (const Published& p : kPublished)
    EXPECT_EQ(parameters_of(generate(p.model, R"({"batch": 1})", 1)), p.parameters) << p.model;
}

// ResNet-50 at 224 x 224 needs 4.09 G multiply-adds for the forward pass of an image (torchvision's "_ops": 4.09).
// Twice that is its arithmetic, to which normalisation and the like add a little.
TEST(Classifiers, ForwardPassHasThePublishedArithmetic) {
  const auto forward_gflops = [](const std::string& model) {
    const trace::Trace t = generate(model, R"({"batch": 1})", 1);
    double flops = 0;
    for (const trace::Record& record : t.records) {
      if (const auto* phase = std::get_if<trace::Phase>(&record))
        if (t.strings[static_cast<std::size_t>(phase->name)] == "backward") break;
      if (const auto* k = std::get_if<trace::Kernel>(&record)) flops += k->flops;
    }
    return flops * 1e-9;
  };
  EXPECT_NEAR(forward_gflops("resnet50"), 2 * 4.09, 0.3);
  EXPECT_NEAR(forward_gflops("resnet152"), 2 * 11.51, 0.5);
  EXPECT_NEAR(forward_gflops("vgg16"), 2 * 15.47, 0.3);
  EXPECT_NEAR(forward_gflops("alexnet"), 2 * 0.71, 0.1);
  EXPECT_NEAR(forward_gflops("convnext_b"), 2 * 15.36, 0.5);
  // SENet-154: 20.7 G (its paper, table 2: 20.742 for the 224 x 224 crop); Inception-v4: 12.3 G (Bianco et al.).
  EXPECT_NEAR(forward_gflops("senet154"), 2 * 20.74, 1.0);
  EXPECT_NEAR(forward_gflops("inception_v4"), 2 * 12.3, 0.7);
}

// Backward goes back through the layers: what a layer's operations do in reverse belongs to it, and so does the update
// of its parameters.
TEST(Classifiers, LayersNameWhatBelongsToThem) {
  const trace::Trace t = generate("resnet50", R"({"batch": 1})", 2);
  std::string phase, layer;
  std::map<std::string, std::vector<std::string>> kernels;  // of one layer, by phase
  for (const trace::Record& record : t.records) {
    const auto text = [&](trace::StringIndex index) { return t.strings[static_cast<std::size_t>(index)]; };
    if (std::holds_alternative<trace::Iteration>(record)) kernels.clear(), layer.clear();
    if (const auto* p = std::get_if<trace::Phase>(&record)) phase = text(p->name);
    if (const auto* l = std::get_if<trace::Layer>(&record)) layer = text(l->name);
    if (const auto* k = std::get_if<trace::Kernel>(&record))
      if (layer == "stage1.unit2.conv2") kernels[phase].push_back(text(k->name));
  }
  using Names = std::vector<std::string>;
  EXPECT_EQ(kernels["forward"], (Names{"conv2d_k3_fwd"}));
  EXPECT_EQ(kernels["backward"], (Names{"conv2d_k3_dgrad", "conv2d_k3_wgrad"}));
  EXPECT_EQ(kernels["optimizer"], (Names{"sgd_wd_add_", "sgd_buf_mul_", "sgd_buf_add_", "sgd_p_add_"}));
}

}  // namespace
}  // namespace uvmsim
