#pragma once

#include <stdint.h>

/* What a program may tell libuvmcap.so that records it. All of it may be called from any thread and does no harm when
   nothing is recorded; look the functions up in the library that CUDA_INJECTION64_PATH names. */
#ifdef __cplusplus
extern "C" {
#endif

/* Kernels and copies that the calling thread starts from here on carry this id (1 .. 2^53), until the matching pop. */
__attribute__((visibility("default"))) void uvmcap_push(uint64_t id);
__attribute__((visibility("default"))) void uvmcap_pop(void);
/* A `mark` line, e.g. "iteration 3". */
__attribute__((visibility("default"))) void uvmcap_mark(const char* text);
/* Everything that is complete reaches the file. */
__attribute__((visibility("default"))) void uvmcap_flush(void);
/* 1 while something is recorded. */
__attribute__((visibility("default"))) int uvmcap_active(void);

#ifdef __cplusplus
}
#endif
