#include "importers/nccl.h"

#include <gtest/gtest.h>

namespace uvmsim {
namespace {

using trace::Collective;

// NCCL 2.7, 2.18, 2.19; a generic kernel and one of sends and receives run whatever they are told.
TEST(Nccl, KernelsAreToldByTheirNames) {
  for (const char* name : {"ncclAllReduceRingLLKernel_sum_f32(ncclColl)", "ncclKernel_AllReduce_RING_LL_Sum_float(x)",
                           "ncclDevKernel_AllReduce_Sum_f32_RING_LL(x)"}) {
    EXPECT_TRUE(is_nccl_kernel(name));
    EXPECT_EQ(nccl_collective(name), Collective::AllReduce);
  }
  EXPECT_TRUE(is_nccl_kernel("ncclDevKernel_Generic(ncclDevKernelArgsStorage<4096ul>)"));
  EXPECT_EQ(nccl_collective("ncclDevKernel_Generic(ncclDevKernelArgsStorage<4096ul>)"), std::nullopt);
  EXPECT_EQ(nccl_collective("ncclKernel_SendRecv_RING_SIMPLE_Sum_int8_t(ncclWorkElem)"), std::nullopt);
  EXPECT_FALSE(is_nccl_kernel("volta_sgemm_32x32_nn"));
  EXPECT_FALSE(is_nccl_kernel("ncclAllReduce"));  // a call
}

// As c10d, Kineto's annotations and NCCL's API name them; a trace has no reduce to one rank.
TEST(Nccl, CallsAreToldByTheirNames) {
  EXPECT_EQ(nccl_collective("_reduce_scatter_base"), Collective::ReduceScatter);
  EXPECT_EQ(nccl_collective("nccl:_all_gather_base"), Collective::AllGather);
  EXPECT_EQ(nccl_collective("all_to_allv"), Collective::AllToAll);
  EXPECT_EQ(nccl_collective("ncclBroadcast"), Collective::Broadcast);
  EXPECT_EQ(nccl_collective("ncclSend"), Collective::Send);
  EXPECT_EQ(nccl_collective("recv"), Collective::Receive);
  EXPECT_EQ(nccl_collective("reduce"), std::nullopt);
}

// ncclAllGather is told what one rank gives: 4 of 1 MB make 4 MB; ncclAllReduce has the whole buffer.
TEST(Nccl, BuffersAreThoseOfAllRanks) {
  EXPECT_EQ(nccl_buffer(Collective::AllGather, 1'000'000, 4), 4'000'000);
  EXPECT_EQ(nccl_buffer(Collective::AllReduce, 1'000'000, 4), 1'000'000);
  EXPECT_EQ(nccl_buffer(Collective::ReduceScatter, 1'000'000, 0), 0);
  EXPECT_EQ(nccl_buffer(Collective::AllGather, std::int64_t{1} << 48, 2), 0);
}

}  // namespace
}  // namespace uvmsim
