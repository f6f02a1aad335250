#include "plan/encoded_moves.h"

#include "plan/codec.h"
#include "plan/sparsity.h"
#include "plan/swap_schedule.h"

namespace uvmsim {

void encode_moves(const IterationGraph& graph, const MoveCodec& codec, Plan& plan) {
  if (codec.name.empty()) return;
  const auto by = codecs().find(codec.name)->make();
  const SparsityTable zeros(graph, codec.sparsity);
  for (Action& action : plan.actions) {
    auto* move = std::get_if<Move>(&action);
    if (move == nullptr || !move->codec.empty()) continue;
    const CodecTensor tensor{.kind = kind_of(graph, move->of.tensor),
                             .bytes = Bytes{move->of.bytes},
                             .sparsity = zeros.after(move->of.last_use, move->of.tensor),
                             .ratio = codec.ratio};
    if (!by->allows(tensor) || by->encoded_bytes(tensor) >= tensor.bytes) continue;
    move->codec = codec.name;
    move->sparsity = tensor.sparsity;
    move->ratio = tensor.ratio;
  }
}

}  // namespace uvmsim
