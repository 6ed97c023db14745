#include "adstack.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static char *stack;
static uint64_t used, room, peak;

void pushReal8Array(const double *x, int n) {
    uint64_t size = (uint64_t)n * sizeof *x;
    if (used + size > room) {
        room = 2 * (used + size);
        stack = realloc(stack, room);
        if (!stack) exit(3);
    }
    memcpy(stack + used, x, size);
    used += size;
    if (used > peak) peak = used;
}

void popReal8Array(double *x, int n) {
    uint64_t size = (uint64_t)n * sizeof *x;
    if (size > used) {
        fputs("popped more than was pushed\n", stderr);
        exit(4);
    }
    used -= size;
    memcpy(x, stack + used, size);
}

uint64_t adStack_getCurrentStackSize(void) { return used; }
uint64_t adStack_getPeakStackSize(void) { return peak; }

/* Fortran */
void pushreal8array_(const double *x, const int *n) { pushReal8Array(x, *n); }
void popreal8array_(double *x, const int *n) { popReal8Array(x, *n); }
int64_t adstack_peak_(void) { return (int64_t)peak; }
