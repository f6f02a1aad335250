// uvmsim-mpi: the same program, whose sweeps use all processes of an MPI job. Rank 0 alone reads and writes the folder
// and prints; the others simulate what it asks for.
#include <cstdlib>
#include <iostream>
#include <mpi.h>
#include <sstream>

#include "cli/program.h"
#include "cli/signals.h"
#include "study/sweep/peers.h"

namespace {

using uvmsim::ExitCode;

class MpiPeers final : public uvmsim::Peers {
 public:
  MpiPeers() {
    MPI_Comm_rank(MPI_COMM_WORLD, &rank_);
    MPI_Comm_size(MPI_COMM_WORLD, &size_);
  }

  int rank() const override { return rank_; }
  int size() const override { return size_; }

  // May wait for the receiver when the text is long: results go to rank 0, which always listens.
  void send(int to, const std::string& text) override {
    MPI_Send(text.data(), static_cast<int>(text.size()), MPI_CHAR, to, 0, MPI_COMM_WORLD);
  }

  std::optional<uvmsim::PeerMessage> receive() override {
    int arrived = 0;
    MPI_Status status;
    MPI_Iprobe(MPI_ANY_SOURCE, 0, MPI_COMM_WORLD, &arrived, &status);
    if (arrived == 0) return std::nullopt;
    int size = 0;
    MPI_Get_count(&status, MPI_CHAR, &size);
    uvmsim::PeerMessage message{.from = status.MPI_SOURCE, .text = std::string(static_cast<std::size_t>(size), ' ')};
    MPI_Recv(message.text.data(), size, MPI_CHAR, status.MPI_SOURCE, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    return message;
  }

 private:
  int rank_ = 0, size_ = 1;
};

// Everybody reads the same arguments, so rank 0 says what is wrong with them; it also says what went wrong elsewhere.
ExitCode run_silently(const std::vector<std::string>& arguments, MpiPeers& peers) {
  std::ostringstream out, err;
  const ExitCode exit = uvmsim::run_program(arguments, out, err, &peers);
  if (exit != ExitCode::Done) uvmsim::give_up(peers, err.str());
  return exit;
}

}  // namespace

int main(int argc, char** argv) {
  // Points run in forked processes, which must not share memory that a network card writes to. TCP and shared memory
  // are plenty for messages of a few kilobytes.
  setenv("OMPI_MCA_pml", "ob1", 0);
  setenv("OMPI_MCA_btl", "self,vader,tcp", 0);
  MPI_Init(&argc, &argv);
  uvmsim::answer_signals();
  const std::vector<std::string> arguments(argv + 1, argv + argc);
  MpiPeers peers;
  const ExitCode exit =
      peers.rank() == 0 ? uvmsim::run_program(arguments, std::cout, std::cerr, &peers) : run_silently(arguments, peers);
  MPI_Finalize();
  return static_cast<int>(exit);
}
