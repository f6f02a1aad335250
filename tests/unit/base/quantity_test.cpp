#include "base/quantity.h"

#include <gtest/gtest.h>
#include <random>

namespace uvmsim {
namespace {

TEST(Quantity, UnitsOfBytesAreBinaryWithAnI) {
  EXPECT_EQ(parse_bytes("1 KB"), Bytes{1000});
  EXPECT_EQ(parse_bytes("1 KiB"), Bytes{1024});
  EXPECT_EQ(parse_bytes("32GiB"), Bytes{32LL << 30});
  EXPECT_EQ(parse_bytes("33.3 GB"), Bytes{33'300'000'000});
  EXPECT_EQ(parse_bytes("7 B"), Bytes{7});
  EXPECT_EQ(parse_bytes("1.5 TiB"), Bytes{3LL << 39});
}

TEST(Quantity, BandwidthIsBytesPerSecond) {
  EXPECT_EQ(parse_bandwidth("12 GB/s"), BytesPerSecond{12'000'000'000});
  EXPECT_EQ(parse_bandwidth("1 GiB/s"), BytesPerSecond{1LL << 30});
  EXPECT_EQ(parse_bandwidth("12 GB"), std::nullopt);
}

TEST(Quantity, TimesAreWholePicoseconds) {
  EXPECT_EQ(parse_duration("45 us"), microseconds(45));
  EXPECT_EQ(parse_duration("0.216us"), nanoseconds(216));
  EXPECT_EQ(parse_duration("14 ns"), nanoseconds(14));
  EXPECT_EQ(parse_duration("2.2 s"), Duration{2'200'000'000'000});
  EXPECT_EQ(parse_duration("0.5 min"), Duration{30'000'000'000'000});
  EXPECT_EQ(parse_duration("0.4 ps"), Duration{0});
  EXPECT_EQ(parse_duration("0.6 ps"), Duration{1});
  EXPECT_EQ(parse_duration("1e-3 ms"), microseconds(1));
}

TEST(Quantity, WhatIsNoQuantityIsRefused) {
  for (const char* text : {"", " ", "GB", "12", "12 gb", "12 GBs", "1 2 GB", "nan GB", "inf GB", "0x10 GB", "1..2 GB",
                           "12 GB ", "--1 GB", "1e30 TB", "\xff GB"})
    EXPECT_EQ(parse_bytes(text), std::nullopt) << text;
  // 107 days are more picoseconds than 63 bits hold.
  EXPECT_NE(parse_duration("9000000 s"), std::nullopt);
  EXPECT_EQ(parse_duration("9300000 s"), std::nullopt);
}

TEST(Quantity, TextIsTheShortestExactOne) {
  EXPECT_EQ(to_text(Bytes{2 << 20}), "2 MiB");
  EXPECT_EQ(to_text(Bytes{8'000'000'000}), "8 GB");
  EXPECT_EQ(to_text(Bytes{33'300'000'000}), "33.3 GB");
  EXPECT_EQ(to_text(Bytes{0}), "0 B");
  EXPECT_EQ(to_text(Bytes{1'234'567}), "1234567 B");
  EXPECT_EQ(to_text(BytesPerSecond{900'000'000'000}), "900 GB/s");
  EXPECT_EQ(to_text(nanoseconds(216)), "216 ns");
  EXPECT_EQ(to_text(nanoseconds(4500)), "4.5 us");
  EXPECT_EQ(to_text(Duration{0}), "0 s");
  EXPECT_EQ(to_text(Duration{-nanoseconds(5)}), "-5 ns");
}

// Property: below 2^53, where a double holds every whole number, text and value are the same thing.
TEST(Quantity, TextParsesBackToTheSameValue) {
  std::mt19937_64 random(20261121);
  for (int trial = 0; trial < 10000; ++trial) {
    const auto value = static_cast<std::int64_t>(random() >> (11 + random() % 50));
    EXPECT_EQ(parse_bytes(to_text(Bytes{value})), Bytes{value});
    EXPECT_EQ(parse_bandwidth(to_text(BytesPerSecond{value})), BytesPerSecond{value});
    EXPECT_EQ(parse_duration(to_text(Duration{value})), Duration{value});
  }
}

}  // namespace
}  // namespace uvmsim
