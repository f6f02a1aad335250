// The families of kernel programs, one file each. `make_kernel_program` picks by access pattern.
#pragma once

#include <memory>
#include <span>

#include "gpu/kernel_program.h"

namespace uvmsim {

using Options = std::span<const trace::PatternOptions>;
using Operands = std::span<const Operand>;

// Sequential, Wide, Broadcast: slices in lock-step (programs/sweep.cpp).
std::unique_ptr<KernelProgram> make_sweep_program(LaunchShape, Operands, Options);
// Stencil, Grid2d: 2-D tiles of rows, each warp its own rows (programs/grid2d.cpp).
std::unique_ptr<KernelProgram> make_grid2d_program(LaunchShape, Operands, Options);
// Order, Chase: lists of single touches (programs/list.cpp).
std::unique_ptr<KernelProgram> make_list_program(LaunchShape, Operands, Options);
// Random: threads touch places anywhere (programs/random.cpp).
std::unique_ptr<KernelProgram> make_random_program(LaunchShape, Operands, Options);
// Strided: each thread its own places (programs/strided.cpp).
std::unique_ptr<KernelProgram> make_strided_program(LaunchShape, Operands, Options);
// Tile: GEMM (programs/gemm.cpp).
std::unique_ptr<KernelProgram> make_gemm_program(LaunchShape, Operands, Options);
// Tile with a width: one CTA per stripe of columns (programs/columns.cpp).
std::unique_ptr<KernelProgram> make_columns_program(LaunchShape, Operands, Options);
bool is_column_stripes(const Operand& operand, Options options);  // whether the operand is read in such stripes
// Rows: one CTA per row (programs/rows.cpp).
std::unique_ptr<KernelProgram> make_rows_program(LaunchShape, Operands, Options);

// Whether every page of the operand is granted as the operand needs it.
bool operand_granted(const Operand& operand, const PageTable& pages);

}  // namespace uvmsim
