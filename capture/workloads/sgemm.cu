// How long does cuBLAS take to multiply matrices that the host wrote, and how long once they are there? With
// libuvmevents.so preloaded (capture/uvmevents), every fault entry is recorded, between marks that name the size.
#include "../microbench/microbench.h"

#include <cublas_v2.h>

using namespace microbench;

int main(int count, char** arguments) {
  const Options options = parse(count, arguments, "how long cublasSgemm takes on managed memory");
  Family family(options, "sgemm", "cublasSgemm of matrices that the host wrote, by their width",
                "\"generator\": \"sgemm\", \"n\": 4096, \"allocator\": \"none\", \"memory\": \"managed\"");
  cublasHandle_t blas;
  const auto check = [](cublasStatus_t status) {
    if (status == CUBLAS_STATUS_SUCCESS) return;
    std::fprintf(stderr, "cublas: status %d\n", status);
    std::exit(1);
  };
  check(cublasCreate(&blas));
  for (const int n : {1024, 2048, 4096, 8192}) {
    const std::size_t bytes = static_cast<std::size_t>(n) * n * sizeof(float);
    const float one = 1, zero = 0;
    std::vector<double> first, second;
    for (int i = 0; i < options.repeat; ++i) {
      const Managed a(options, bytes), b(options, bytes), c(options, bytes);
      const auto multiply = [&] {
        check(cublasSgemm(blas, CUBLAS_OP_N, CUBLAS_OP_N, n, n, n, &one, reinterpret_cast<const float*>(a.data()), n,
                          reinterpret_cast<const float*>(b.data()), n, &zero, reinterpret_cast<float*>(c.data()), n));
      };
      mark_begin("sgemm_" + std::to_string(n), {a.data(), b.data(), c.data()});
      first.push_back(seconds(multiply));
      mark("end");
      second.push_back(seconds(multiply));
    }
    char settings[128];
    std::snprintf(settings, sizeof settings, "\"workload.n\": %d, \"workload.duration\": \"%.6g s\"", n,
                  summarize(second).median);
    family.add("n = " + std::to_string(n), settings, "duration_s", summarize(first));
  }
  family.print();
}
