// Preloaded into Node: whoever looks up a function that makes an external buffer gets one that refuses, as in Electron.
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdio.h>
#include <string.h>

static int refuse(void) {
  fputs("refused\n", stderr);
  return 22; // napi_no_external_buffers_allowed
}

void *dlsym(void *handle, const char *name) {
  static void *(*real)(void *, const char *);
  static const char *const versions[] = {"GLIBC_2.34", "GLIBC_2.17", "GLIBC_2.2.5"};
  for (int at = 0; real == NULL && at < 3; at++) {
    real = (void *(*)(void *, const char *))dlvsym(RTLD_NEXT, "dlsym", versions[at]);
  }
  if (strncmp(name, "napi_create_external_arraybuffer", 32) == 0 || strncmp(name, "napi_create_external_buffer", 27) == 0) {
    fprintf(stderr, "looked up %s\n", name);
    return (void *)refuse;
  }
  return real(handle, name);
}
