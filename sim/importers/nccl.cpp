#include "importers/nccl.h"

#include <array>
#include <cctype>
#include <string>
#include <utility>

#include "trace/format.h"

namespace uvmsim {
namespace {

// Small letters only, of what stands before the arguments: "_reduce_scatter_base" is "reducescatterbase".
std::string letters(std::string_view name) {
  std::string all;
  for (const char c : name.substr(0, name.find('(')))
    if (std::isalpha(static_cast<unsigned char>(c)) != 0)
      all += static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  return all;
}

}  // namespace

bool is_nccl_kernel(std::string_view name) {
  const std::string text = letters(name);
  return text.starts_with("nccl") && text.find("kernel") != text.npos;
}

std::optional<trace::Collective> nccl_collective(std::string_view name) {
  using trace::Collective;
  constexpr std::array<std::pair<std::string_view, Collective>, 5> kParts = {
      {{"allreduce", Collective::AllReduce},
       {"reducescatter", Collective::ReduceScatter},
       {"allgather", Collective::AllGather},
       {"broadcast", Collective::Broadcast},
       {"alltoall", Collective::AllToAll}}};
  const std::string text = letters(name);
  for (const auto& [part, kind] : kParts)
    if (text.find(part) != text.npos) return kind;
  if (text.ends_with("send")) return Collective::Send;
  if (text.ends_with("recv")) return Collective::Receive;
  return std::nullopt;
}

std::int64_t nccl_buffer(trace::Collective kind, std::int64_t message, std::int64_t ranks) {
  const bool of_one_rank = kind == trace::Collective::AllGather || kind == trace::Collective::ReduceScatter ||
                           kind == trace::Collective::AllToAll;
  if (!of_one_rank) return message;
  return ranks <= 0 || message > trace::kMostBytes / ranks ? 0 : message * ranks;
}

}  // namespace uvmsim
