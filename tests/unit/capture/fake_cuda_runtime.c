/* A CUDA runtime without a GPU, for cuda_test.sh: allocations are host memory, kernels do nothing, 64 GiB are free.
   Calls whose arguments do not matter take none. */
#include <stdlib.h>
#include <string.h>
typedef int E; /* cudaError_t; 0 is success */
E cudaGetDeviceCount(int* n) {
  *n = 2;
  return 0;
}
E cudaFree(void* p) {
  free(p);
  return 0;
}
E cudaFreeHost(void* p) {
  free(p);
  return 0;
}
E cudaMalloc(void** p, size_t n) {
  *p = calloc(1, n < (1u << 20) ? n : 1u << 20);
  return 0;
}
E cudaMallocManaged(void** p, size_t n, unsigned f) {
  *p = malloc(n);
  return 0;
}
E cudaHostAlloc(void** p, size_t n, unsigned f) {
  *p = malloc(n);
  return 0;
}
E cudaMallocHost(void** p, size_t n) {
  *p = malloc(n);
  return 0;
}
E cudaMemGetInfo(size_t* f, size_t* t) {
  *f = 64ul << 30;
  *t = 80ul << 30;
  return 0;
}
E cudaDeviceSynchronize(void) { return 0; }
E cudaGetLastError(void) { return 0; }
E cudaMemcpy(void* d, const void* s, size_t n, int k) {
  memset(d, 7, n);
  return 0;
}
E cudaMemcpyAsync(void* d, const void* s, size_t n, int k, void* st) { return 0; }
E cudaMemcpyPeerAsync(void* d, int a, const void* s, int b, size_t n, void* st) { return 0; }
E cudaMemcpyToSymbol(const void* y, const void* s, size_t n, size_t o, int k) { return 0; }
E cudaMemsetAsync(void* d, int v, size_t n, void* s) { return 0; }
E cudaSetDevice(int d) { return 0; }
E cudaGetDevice(int* d) {
  *d = 0;
  return 0;
}
E cudaStreamCreateWithFlags(void** s, unsigned f) {
  *s = (void*)1;
  return 0;
}
E cudaStreamCreate(void** s) {
  *s = (void*)1;
  return 0;
}
E cudaStreamSynchronize(void* s) { return 0; }
E cudaStreamWaitEvent(void* s, void* e, unsigned f) { return 0; }
E cudaEventCreateWithFlags(void** e, unsigned f) {
  *e = (void*)1;
  return 0;
}
E cudaEventRecord(void* e, void* s) { return 0; }
E cudaMemPrefetchAsync(void) { return 0; }
E cudaMemAdvise(void) { return 0; }
E cudaMemDiscardBatchAsync(void) { return 0; }
E cudaDeviceGetAttribute(int* v, int a, int d) {
  *v = 1980000;
  return 0;
}
E cudaDeviceGetPCIBusId(char* b, int n, int d) {
  strcpy(b, "0000:AB:00.0");
  return 0;
}
E cudaRuntimeGetVersion(int* v) {
  *v = 13000;
  return 0;
}
E cudaDriverGetVersion(int* v) {
  *v = 13000;
  return 0;
}
E cudaGetDeviceProperties(char* p, int d) {
  memset(p, 0, 256);
  strcpy(p, "Fake GPU");
  return 0;
}
E cudaGetDeviceProperties_v2(char* p, int d) { return cudaGetDeviceProperties(p, d); }
const char* cudaGetErrorString(E e) { return "error"; }
E cudaLaunchKernel(void) { return 0; }
E cudaLaunchKernelExC(void) { return 0; }
E __cudaLaunchKernel(void) { return 0; }
E __cudaGetKernel(void** k, const void* f) {
  *k = (void*)1;
  return 0;
}
unsigned __cudaPushCallConfiguration(void) { return 0; }
E __cudaPopCallConfiguration(void* a, void* b, size_t* c, void* d) { return 0; }
void** __cudaRegisterFatBinary(void* p) {
  static void* h;
  return &h;
}
void __cudaRegisterFatBinaryEnd(void** h) {}
void __cudaUnregisterFatBinary(void** h) {}
void __cudaRegisterFunction(void) {}
void __cudaRegisterVar(void) {}
char __cudaInitModule(void** h) { return 1; }
