#include "tensor/machine_speed.h"

#include <cstddef>
#include <cstring>

#include "tensor/detail/best_seconds.h"
#include "tensor/detail/large_pages.h"
#include "tensor/kernels/parallel.h"
#include "tensor/kernels/table.h"
#include "tensor/tensor.h"

namespace tessera {

namespace {

constexpr double kSeconds = 0.02;  // the minimum of each measurement

double product_flops() {
  constexpr index_t n = 1024;
  const auto& kernel = kernels::table().of<float>();
  const Tensor a = Tensor::empty({n, n}).fill(1);
  const kernels::MatrixRef<float> matrix = {a.data<float>(), n, 1};
  Tensor packed = Tensor::empty({n * kernels::panel_columns(n, false, kernel.lanes)});
  kernel.pack_b(n, n, matrix, packed.mutable_data<float>());
  Tensor c = Tensor::empty({n, n});
  kernels::GemmArgs<float> args = {.m = n,
                                   .n = n,
                                   .k = n,
                                   .c = c.mutable_data<float>(),
                                   .c_row = n,
                                   .a = matrix,
                                   .packed_b = packed.data<float>(),
                                   .workers = thread_count()};
  Tensor workspace = Tensor::empty({kernel.gemm_workspace(args)});
  args.workspace = workspace.mutable_data<float>();
  return 2.0 * n * n * n / detail::best_seconds(kSeconds, [&] { kernel.gemm(args); });
}

double copied_bytes() {
  constexpr index_t kBytes = index_t{64} << 20;
  const auto from = detail::large_pages<std::byte>(kBytes);
  const auto to = detail::large_pages<std::byte>(kBytes);
  const auto in_parts = [](const auto& work) {
    kernels::parallel_for(kBytes, 1, [&](index_t begin, index_t end) {
      work(begin, static_cast<std::size_t>(end - begin));
    });
  };
  // Each thread writes to its part first, so that the part is in memory near the thread.
  in_parts([&](index_t begin, std::size_t size) { std::memset(from.get() + begin, 1, size); });
  const double seconds = detail::best_seconds(kSeconds, [&] {
    in_parts([&](index_t begin, std::size_t size) {
      std::memcpy(to.get() + begin, from.get() + begin, size);
    });
  });
  return 2.0 * kBytes / seconds;
}

}  // namespace

MachineSpeed measure_machine() {
  return {product_flops() / thread_count(), copied_bytes() / thread_count()};
}

}  // namespace tessera
