// Which share of each tensor and of each kernel's arithmetic is left when layers lose output channels.
#pragma once

#include <functional>
#include <string_view>
#include <vector>

#include "trace/record.h"

namespace uvmsim {

// By record of the trace; 1 of those that are not of the kind.
struct RemainingShares {
  std::vector<double> bytes;       // of an allocation; of a kernel's operands together
  std::vector<double> arithmetic;  // of a kernel
};

// Of the output channels of the layer, more than 0; 1: all of them.
using KeptChannels = std::function<double(std::string_view layer)>;

// A convolution or matrix product that reads a weight has fewer outputs by what its layer keeps, fewer inputs by what
// the layers before it keep, and a weight and arithmetic fewer by both; so have their gradients. All else makes results
// with as many of their channels as it reads, in the mean over bytes, and has arithmetic as it has bytes. A filter of
// each channel (depthwise) has as many outputs as inputs. The optimizer's state goes by the parameter as long as it is.
RemainingShares remaining_channels(const trace::Trace& trace, const KeptChannels& kept);

}  // namespace uvmsim
