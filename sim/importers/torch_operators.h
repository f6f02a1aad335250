// The operators of a PyTorch step on meta tensors, as python/uvmsim/torch_recorder.py writes them, as a trace.
#pragma once

#include "importers/import_file.h"
#include "trace/record.h"
#include "workload/generators/dnn/roofline.h"

namespace uvmsim {

// The trace of `file`, whose kernels take what the roofline of `device` says. It is valid. Throws UserError with every
// error of the file, placed as "file:line"; where the script itself failed, with the script's place and error.
trace::Trace read_torch_operators(const ImportFile& file, const dnn::RooflineDevice& device);

}  // namespace uvmsim
