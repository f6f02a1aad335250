// Convolutional models against what is published about them.
#include <algorithm>
#include <gtest/gtest.h>
#include <string>

#include "support/generate.h"
#include "support/trace_totals.h"

namespace uvmsim {
namespace {

using testing_support::last_iteration_of;
using testing_support::parameters_of;

struct Published {
  const char* model;
  std::int64_t parameters;
};

// torchvision's documentation of its weights ("num_params") for its models, detectors too, with the auxiliary
// classifier of Inception-v3; Cadene/pretrained-models for SENet-154 and Inception-v4; the lucid documentation for
// DenseNet-264; milesial/Pytorch-UNet with 3 channels and 2 classes for U-Net; Caffe's model zoo for GoogLeNet without
// auxiliary classifiers (6,998,552) and for Network in Network (its file of 30.4 MB); Keras' trainable parameters for
// MobileNet. V-Net and ResNet-1001 were counted by the re-enactment of their public code that
// classifiers_reference_test.cpp compares with. OverFeat's paper says 145 M: the convolutions have 96 * 3 * 121 + 96,
// 256 * 96 * 25 + 256, 512 * 256 * 9 + 512, 1024 * 512 * 9 + 1024 and 1024 * 1024 * 9 + 1024, the others 36,864 * 3072
// + 3072, 3072 * 4096 + 4096 and 4096 * 1000 + 1000.
constexpr Published kPublished[] = {
    {"alexnet", 61'100'840},
    {"convnext_b", 88'591'464},
    {"convnext_l", 197'767'336},
    {"convnext_s", 50'223'688},
    {"convnext_t", 28'589'128},
    {"densenet264", 33'337'704},
    {"googlenet", 6'998'552},
    {"inception_v3", 27'161'264},
    {"inception_v4", 42'679'816},
    {"mobilenet_v1", 4'231'976},
    {"mobilenet_v2", 3'504'872},
    {"nin", 7'595'176},
    {"overfeat", 145'920'872},
    {"resnet1001", 10'327'706},
    {"resnet101", 44'549'160},
    {"resnet152", 60'192'808},
    {"resnet18", 11'689'512},
    {"resnet34", 21'797'672},
    {"resnet50", 25'557'032},
    {"senet154", 115'088'984},
    {"shufflenet_v2_x0_5", 1'366'792},
    {"shufflenet_v2_x1_0", 2'278'604},
    {"shufflenet_v2_x1_5", 3'503'624},
    {"shufflenet_v2_x2_0", 7'393'996},
    {"squeezenet1_0", 1'248'424},
    {"squeezenet1_1", 1'235'496},
    {"ssd300_vgg16", 35'641'826},
    {"unet", 31'037'698},
    {"unet3d", 19'069'955 + 2 * 2'336},  // the paper's, and scales and shifts
    {"vgg11", 132'863'336},
    {"vgg16", 138'357'544},
    {"vgg19", 143'667'240},
    {"vnet", 45'603'934},
    {"wide_resnet101_2", 126'886'696},
    {"wide_resnet50_2", 68'883'240},
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
  EXPECT_NEAR(forward_gflops("resnet18"), 2 * 1.81, 0.1);
  EXPECT_NEAR(forward_gflops("resnet34"), 2 * 3.66, 0.1);
  EXPECT_NEAR(forward_gflops("resnet50"), 2 * 4.09, 0.3);
  EXPECT_NEAR(forward_gflops("resnet152"), 2 * 11.51, 0.5);
  EXPECT_NEAR(forward_gflops("vgg16"), 2 * 15.47, 0.3);
  EXPECT_NEAR(forward_gflops("alexnet"), 2 * 0.71, 0.1);
  EXPECT_NEAR(forward_gflops("convnext_b"), 2 * 15.36, 0.5);
  // SENet-154: 20.7 G (its paper, table 2: 20.742 for the 224 x 224 crop); Inception-v4: 12.3 G (Bianco et al.).
  EXPECT_NEAR(forward_gflops("senet154"), 2 * 20.74, 1.0);
  EXPECT_NEAR(forward_gflops("inception_v4"), 2 * 12.3, 0.7);
  // torchvision's "_ops"; OverFeat has 2810 M connections, MobileNet 569 M (table 4 of either paper).
  EXPECT_NEAR(forward_gflops("squeezenet1_0"), 2 * 0.82, 0.05);
  EXPECT_NEAR(forward_gflops("squeezenet1_1"), 2 * 0.35, 0.05);
  EXPECT_NEAR(forward_gflops("mobilenet_v2"), 2 * 0.30, 0.1);
  EXPECT_NEAR(forward_gflops("shufflenet_v2_x1_0"), 2 * 0.14, 0.05);
  EXPECT_NEAR(forward_gflops("shufflenet_v2_x2_0"), 2 * 0.58, 0.05);
  EXPECT_NEAR(forward_gflops("ssd300_vgg16"), 2 * 34.86, 0.7);
  EXPECT_NEAR(forward_gflops("wide_resnet50_2"), 2 * 11.4, 0.3);
  EXPECT_NEAR(forward_gflops("overfeat"), 2 * 2.81, 0.1);
  EXPECT_NEAR(forward_gflops("mobilenet_v1"), 2 * 0.569, 0.1);
}

// SSD300 on the first three stages of ResNet-18 (2,782,784 parameters: 9,408 + 128, 4 * 36,864 + 8 * 64, 525,568 with
// 1x1 shortcuts and normalisations, 2,099,712): extras c of 256, 512, 512, 256, 256, 128 channels through r of 256,
// 256, 128, 128, 128 have c r + 9 r c' + 2 r + 2 c' each; 8732 boxes from 4, 6, 6, 6, 4, 4 at each position of c
// channels have 9 c + 1 for each of their 4 + 81 values.
TEST(Classifiers, ADetectorHasAHeadOnEachOfItsMaps) {
  constexpr std::int64_t kChannels[] = {256, 512, 512, 256, 256, 128}, kReduced[] = {256, 256, 128, 128, 128};
  constexpr std::int64_t kBoxes[] = {4, 6, 6, 6, 4, 4};
  std::int64_t parameters = 2'782'784;
  for (int i = 0; i < 5; ++i)
    parameters +=
        kChannels[i] * kReduced[i] + 9 * kReduced[i] * kChannels[i + 1] + 2 * (kReduced[i] + kChannels[i + 1]);
  for (int i = 0; i < 6; ++i) parameters += (9 * kChannels[i] + 1) * kBoxes[i] * (4 + 81);
  EXPECT_EQ(parameters_of(generate("ssd300_resnet18", R"({"batch": 1})", 1)), parameters);

  // Scores of 81 classes and the coordinates of 38^2 * 4 + 19^2 * 6 + 10^2 * 6 + 5^2 * 6 + 3^2 * 4 + 4 = 8732 boxes.
  const auto allocs = records_of<trace::Alloc>(generate("ssd300_resnet18", R"({"batch": 1})", 1));
  EXPECT_GT(std::ranges::count(allocs, 8732 * 81 * 4, &trace::Alloc::bytes), 0);
  EXPECT_GT(std::ranges::count(allocs, 8732 * 4 * 4, &trace::Alloc::bytes), 0);
}

// M5's paper says 0.5 M: 80 * 128 + 128, 3 * 128 * 128 + 128, 3 * 128 * 256 + 256, 3 * 256 * 512 + 512, two for each
// channel's normalisation and 512 * 10 + 10. PyTorch's tutorial on speech commands prints 26,915 for its narrower one.
TEST(Classifiers, M5HasAsManyParametersAsItsPaperAndItsTutorialSay) {
  EXPECT_EQ(parameters_of(generate("m5", R"({"batch": 1})", 1)), 559'114);
  EXPECT_EQ(parameters_of(generate("m5", R"({"batch": 1, "samples": 8000, "stride": 16, "channels": [32, 32, 64, 64],
                                             "classes": 35})",
                                   1)),
            26'915);
}

// Table 1 of its paper: 32000 samples leave 8000 of 128 channels, then 2000, 500, 125 by poolings.
TEST(Classifiers, M5HasTheExtentsOfItsPaper) {
  const auto allocs = records_of<trace::Alloc>(generate("m5", R"({"batch": 1})", 1));
  for (const std::int64_t bytes : {128 * 8000 * 4, 128 * 2000 * 4, 256 * 500 * 4, 512 * 125 * 4})
    EXPECT_GT(std::ranges::count(allocs, bytes, &trace::Alloc::bytes), 0) << bytes;
}

// Of the option without parameters in the shortcuts. The paper's table 6 has 0.27, 0.46, 0.85, 1.7 and 19.4 M. Exactly:
// 3 * 16 * 9 in the first layer, 2 * 9 * c^2 in each of n units of c = 16, 32 and 64 channels, less 9 * c^2 / 2 where c
// doubles; 2 per channel of 2 n + 1, 2 n and 2 n normalisations; 64 * 10 + 10. So n = 3 has 432 + 18 * 3 * (256 + 1024
// + 4096) - 4.5 * (1024 + 4096) + 2 * (7 * 16 + 6 * 32 + 6 * 64) + 650 = 269,722.
TEST(Classifiers, ResNetsForCifarHaveAsManyParametersAsTheirDepthSays) {
  const auto of_depth = [](int depth) {
    return parameters_of(generate("resnet_cifar", R"({"batch": 1, "depth": )" + std::to_string(depth) + "}", 1));
  };
  EXPECT_EQ(of_depth(20), 269'722);
  EXPECT_EQ(of_depth(32), 464'154);
  EXPECT_EQ(of_depth(56), 853'018);
  EXPECT_EQ(of_depth(110), 1'727'962);
  EXPECT_EQ(of_depth(1202), 19'421'274);
}

// ResNet-164 has 1.7 M parameters ("Identity Mappings", table 4).
TEST(Classifiers, PreActivationResNetsOfOtherDepthsAreBuiltAsResNet1001) {
  EXPECT_EQ(last_iteration_of(generate("resnet_preact", R"({"batch": 2, "image": 64, "depth": 1001})", 2)),
            last_iteration_of(generate("resnet1001", R"({"batch": 2})", 2)));
  EXPECT_NEAR(static_cast<double>(parameters_of(generate("resnet_preact", R"({"batch": 1})", 1))), 1.7e6, 0.05e6);
}

TEST(Classifiers, AResNetIsItsBlocksAndItsWidening) {
  EXPECT_EQ(last_iteration_of(generate("resnet", R"({"batch": 1, "blocks": [3, 8, 36, 3]})", 2)),
            last_iteration_of(generate("resnet152", R"({"batch": 1})", 2)));
  EXPECT_EQ(last_iteration_of(generate("resnet", R"({"batch": 1, "widening": 2})", 2)),
            last_iteration_of(generate("wide_resnet50_2", R"({"batch": 1})", 2)));
}

// Bytes of feature maps of one image of 224 x 224 (OverFeat: 231 x 231), single precision: channels * rows * columns
// * 4. Each is made once by the forward pass; poolings make an index of 8 bytes per result beside it.
TEST(Classifiers, FeatureMapsHaveTheExtentsOfThePapers) {
  const auto made = [](const std::string& model, std::int64_t bytes) {
    const auto allocs = records_of<trace::Alloc>(generate(model, R"({"batch": 1})", 1));
    return std::ranges::count(allocs, bytes, &trace::Alloc::bytes) > 0;
  };
  // (231 - 11) / 4 + 1 = 56, halved to 28 with its index; 28 - 4 = 24.
  EXPECT_TRUE(made("overfeat", 96 * 56 * 56 * 4) && made("overfeat", 96 * 28 * 28 * 8));
  EXPECT_TRUE(made("overfeat", 256 * 24 * 24 * 4) && made("overfeat", 1024 * 6 * 6 * 4));
  // (224 - 11) / 4 + 1 = 54, then 27, 13 and 6 by poolings that round up.
  EXPECT_TRUE(made("nin", 96 * 54 * 54 * 4) && made("nin", 256 * 27 * 27 * 4) && made("nin", 1000 * 6 * 6 * 4));
  EXPECT_TRUE(made("googlenet", 64 * 112 * 112 * 4) && made("googlenet", 256 * 28 * 28 * 4));
  EXPECT_TRUE(made("googlenet", 528 * 14 * 14 * 4) && made("googlenet", 1024 * 7 * 7 * 4));
  EXPECT_TRUE(made("squeezenet1_0", 96 * 109 * 109 * 4) && made("squeezenet1_0", 512 * 13 * 13 * 4));
  EXPECT_TRUE(made("shufflenet_v2_x1_0", 116 * 28 * 28 * 4) && made("shufflenet_v2_x1_0", 1024 * 7 * 7 * 4));
  EXPECT_TRUE(made("mobilenet_v1", 64 * 112 * 112 * 4) && made("mobilenet_v1", 1024 * 7 * 7 * 4));
  EXPECT_TRUE(made("mobilenet_v2", 96 * 112 * 112 * 4) && made("mobilenet_v2", 1280 * 7 * 7 * 4));
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
