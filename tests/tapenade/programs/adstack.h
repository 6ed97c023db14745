/* A stack of bytes with the entry points of an AD tool's, and its size and peak. */
#ifndef ADSTACK_H
#define ADSTACK_H
#include <stdint.h>

void pushReal8Array(const double *x, int n);
void popReal8Array(double *x, int n);
uint64_t adStack_getCurrentStackSize(void);
uint64_t adStack_getPeakStackSize(void);
#endif
