/* A small model and its adjoint, written as a source-transforming AD tool writes them: for each
 * routine X a primal X, a joint adjoint X_b, and a split pair X_fwd and X_bwd.
 *
 * Compile with -DSPLIT_<routine>=1 to record that call in place, else it is checkpointed; with
 * -DPROFILE for the calls that measure. Prints peak bytes, seconds and the gradient's bits.
 */
#define _POSIX_C_SOURCE 200809L
#include "adstack.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#ifdef PROFILE
#include "adjourn_profile.h"
#define SNPWRITE(f, line) adProfileAdj_SNPWrite(f, "model.c", line)
#define BEGINADVANCE(f, line) adProfileAdj_beginAdvance(f, "model.c", line)
#define ENDADVANCE(f, line) adProfileAdj_endAdvance(f, "model.c", line)
#define SNPREAD(f, line) adProfileAdj_SNPRead(f, "model.c", line)
#define BEGINREVERSE(f, line) adProfileAdj_beginReverse(f, "model.c", line)
#define ENDREVERSE(f, line) adProfileAdj_endReverse(f, "model.c", line)
#define TURN(f) adProfileAdj_turn(f, "model.c")
#else
#define SNPWRITE(f, line)
#define BEGINADVANCE(f, line)
#define ENDADVANCE(f, line)
#define SNPREAD(f, line)
#define BEGINREVERSE(f, line)
#define ENDREVERSE(f, line)
#define TURN(f)
#endif

#ifndef SPLIT_step
#define SPLIT_step 0
#endif
#ifndef SPLIT_physics
#define SPLIT_physics 0
#endif
#ifndef SPLIT_flux
#define SPLIT_flux 0
#endif
#ifndef SPLIT_limiter
#define SPLIT_limiter 0
#endif
#ifndef SPLIT_level
#define SPLIT_level 0
#endif
#ifndef SPLIT_mixing
#define SPLIT_mixing 0
#endif

/* A call in the forward sweep, and in the reverse sweep. The lines are those of the calls. */
#define CALL_FWD(f, line, split, push, primal, recorded) \
    if (split) {                                         \
        recorded;                                        \
    } else {                                             \
        SNPWRITE(#f, line);                              \
        push;                                            \
        BEGINADVANCE(#f, line);                          \
        primal;                                          \
        ENDADVANCE(#f, line);                            \
    }
#define CALL_BWD(f, line, split, pop, joint, reversed) \
    if (split) {                                       \
        reversed;                                      \
    } else {                                           \
        SNPREAD(#f, line);                             \
        pop;                                           \
        BEGINREVERSE(#f, line);                        \
        joint;                                         \
        ENDREVERSE(#f, line);                          \
    }

#define LEVELS 12
#define WIDTH 200
#define N (LEVELS * WIDTH)
#ifndef STEPS
#define STEPS 30
#endif

/* level: one level of the state, four times through a curve */
static void level(double *u, int k) {
    double *x = u + k * WIDTH;
    for (int r = 0; r < 4; r++)
        for (int i = 0; i < WIDTH; i++) x[i] += 0.01 * sin(x[i]);
}
static void level_fwd(double *u, int k) {
    double *x = u + k * WIDTH;
    for (int r = 0; r < 4; r++) {
        pushReal8Array(x, WIDTH);
        for (int i = 0; i < WIDTH; i++) x[i] += 0.01 * sin(x[i]);
    }
}
static void level_bwd(double *u, double *ub, int k) {
    double *x = u + k * WIDTH, *xb = ub + k * WIDTH;
    for (int r = 0; r < 4; r++) {
        popReal8Array(x, WIDTH);
        for (int i = 0; i < WIDTH; i++) xb[i] *= 1 + 0.01 * cos(x[i]);
    }
}
static void level_b(double *u, double *ub, int k) {
    level_fwd(u, k);
    TURN("level");
    level_bwd(u, ub, k);
}

/* limiter: f <- f / (1 + f^2) */
static void limiter(double *f) {
    for (int i = 0; i < N; i++) f[i] = f[i] / (1 + f[i] * f[i]) + 0.001 * exp(-f[i] * f[i]);
}
static void limiter_fwd(double *f) {
    pushReal8Array(f, N);
    limiter(f);
}
static void limiter_bwd(double *f, double *fb) {
    popReal8Array(f, N);
    for (int i = 0; i < N; i++) {
        double d = 1 + f[i] * f[i];
        fb[i] *= (1 - f[i] * f[i]) / (d * d) - 0.002 * f[i] * exp(-f[i] * f[i]);
    }
}
static void limiter_b(double *f, double *fb) {
    limiter_fwd(f);
    TURN("limiter");
    limiter_bwd(f, fb);
}

/* flux: f <- limiter(w^2 - u), w = tanh(u) */
static void flux(const double *u, double *f) {
    for (int i = 0; i < N; i++) {
        double w = tanh(u[i]);
        f[i] = w * w - u[i];
    }
    limiter(f);
}
static void flux_fwd(const double *u, double *f) {
    double w[N];
    for (int i = 0; i < N; i++) {
        w[i] = tanh(u[i]);
        f[i] = w[i] * w[i] - u[i];
    }
    pushReal8Array(w, N);
    CALL_FWD(limiter, 41, SPLIT_limiter, pushReal8Array(f, N), limiter(f), limiter_fwd(f))
}
static void flux_bwd(const double *u, double *ub, double *f, double *fb) {
    double w[N];
    (void)u;
    CALL_BWD(limiter, 41, SPLIT_limiter, popReal8Array(f, N), limiter_b(f, fb), limiter_bwd(f, fb))
    popReal8Array(w, N);
    for (int i = 0; i < N; i++) {
        ub[i] += (2 * w[i] * (1 - w[i] * w[i]) - 1) * fb[i];
        fb[i] = 0;
    }
}
static void flux_b(double *u, double *ub, double *f, double *fb) {
    flux_fwd(u, f);
    TURN("flux");
    flux_bwd(u, ub, f, fb);
}

/* mixing: each value with its neighbour, five times; only every fifth state is recorded, the
 * others are computed again in the reverse */
static void mix_once(double *u) {
    for (int i = 0; i + 1 < N; i++) u[i] = 0.9 * u[i] + 0.1 * u[i + 1] * sqrt(1 + u[i] * u[i]);
}
static void mixing(double *u) {
    for (int r = 0; r < 3; r++) mix_once(u);
}
static void mixing_fwd(double *u) {
    for (int r = 0; r < 3; r++) {
        pushReal8Array(u, N);
        mix_once(u);
    }
}
static void mixing_bwd(double *u, double *ub) {
    for (int r = 0; r < 3; r++) {
        popReal8Array(u, N);
        for (int i = N - 2; i >= 0; i--) {
            double root = sqrt(1 + u[i] * u[i]), b = ub[i];
            ub[i] = (0.9 + 0.1 * u[i + 1] * u[i] / root) * b;
            ub[i + 1] += 0.1 * root * b;
        }
    }
}
static void mixing_b(double *u, double *ub) {
    mixing_fwd(u);
    TURN("mixing");
    mixing_bwd(u, ub);
}

/* solve: an external routine, linear and self-adjoint, with an adjoint written by hand */
static void solve(double *u) {
    static double v[N];
    for (int sweep = 0; sweep < 20; sweep++) {
        memcpy(v, u, sizeof v);
        for (int i = 1; i + 1 < N; i++) u[i] = 0.5 * v[i] + 0.25 * (v[i - 1] + v[i + 1]);
        u[0] = 0.5 * v[0] + 0.25 * v[1];
        u[N - 1] = 0.5 * v[N - 1] + 0.25 * v[N - 2];
    }
}
static void solve_b(double *u, double *ub) {
    (void)u;
    solve(ub);
}

/* physics: a level at a time, then mixing */
static void physics(double *u) {
    for (int k = 0; k < LEVELS; k++) level(u, k);
    mixing(u);
}
static void physics_fwd(double *u) {
    for (int k = 0; k < LEVELS; k++)
        CALL_FWD(level, 73, SPLIT_level, pushReal8Array(u, N), level(u, k), level_fwd(u, k))
    CALL_FWD(mixing, 75, SPLIT_mixing, pushReal8Array(u, N), mixing(u), mixing_fwd(u))
}
static void physics_bwd(double *u, double *ub) {
    CALL_BWD(mixing, 75, SPLIT_mixing, popReal8Array(u, N), mixing_b(u, ub), mixing_bwd(u, ub))
    for (int k = LEVELS - 1; k >= 0; k--)
        CALL_BWD(level, 73, SPLIT_level, popReal8Array(u, N), level_b(u, ub, k),
                 level_bwd(u, ub, k))
}
static void physics_b(double *u, double *ub) {
    physics_fwd(u);
    TURN("physics");
    physics_bwd(u, ub);
}

/* step: u <- solve(physics(u + 0.1 flux(u))) */
static void step(double *u) {
    double f[N];
    flux(u, f);
    for (int i = 0; i < N; i++) u[i] += 0.1 * f[i];
    physics(u);
    solve(u);
}
static void step_fwd(double *u) {
    double f[N];
    CALL_FWD(flux, 90, SPLIT_flux, pushReal8Array(u, N), flux(u, f), flux_fwd(u, f))
    for (int i = 0; i < N; i++) u[i] += 0.1 * f[i];
    CALL_FWD(physics, 92, SPLIT_physics, pushReal8Array(u, N), physics(u), physics_fwd(u))
    CALL_FWD(solve, 93, 0, pushReal8Array(u, 8), solve(u), )
}
static void step_bwd(double *u, double *ub) {
    double f[N], fb[N];
    CALL_BWD(solve, 93, 0, popReal8Array(u, 8), solve_b(u, ub), )
    CALL_BWD(physics, 92, SPLIT_physics, popReal8Array(u, N), physics_b(u, ub), physics_bwd(u, ub))
    for (int i = 0; i < N; i++) fb[i] = 0.1 * ub[i];
    CALL_BWD(flux, 90, SPLIT_flux, popReal8Array(u, N), flux_b(u, ub, f, fb),
             flux_bwd(u, ub, f, fb))
}
static void step_b(double *u, double *ub) {
    step_fwd(u);
    TURN("step");
    step_bwd(u, ub);
}

/* The whole: J = sum of squares after STEPS steps. */
static void model_b(double *u, double *ub) {
    for (int t = 0; t < STEPS; t++)
        CALL_FWD(step, 110, SPLIT_step, pushReal8Array(u, N), step(u), step_fwd(u))
    TURN("model");
    for (int i = 0; i < N; i++) ub[i] = 2 * u[i];
    for (int t = STEPS - 1; t >= 0; t--)
        CALL_BWD(step, 110, SPLIT_step, popReal8Array(u, N), step_b(u, ub), step_bwd(u, ub))
}

static double seconds(void) {
    struct timespec now;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
    return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

static int rising(const void *a, const void *b) {
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

int main(int argc, char **argv) {
    int rounds = argc > 1 ? atoi(argv[1]) : 1;
    static double u[N], ub[N];
    double *spent = malloc((size_t)rounds * sizeof *spent);
    uint64_t bits = 0;
    for (int round = 0; round < rounds; round++) {
        for (int i = 0; i < N; i++) u[i] = sin(0.01 * i) + 0.3 * cos(0.37 * i);
        double began = seconds();
        model_b(u, ub);
        spent[round] = seconds() - began;
    }
    for (int i = 0; i < N; i++) {
        uint64_t word;
        memcpy(&word, &ub[i], sizeof word);
        bits = (bits ^ word) * 0x100000001b3u + (uint64_t)i;
    }
    qsort(spent, (size_t)rounds, sizeof *spent, rising);
    printf("peak %" PRIu64 "\nseconds %.9f\nfastest %.9f\ngradient %016" PRIx64 "\n",
           adStack_getPeakStackSize(), spent[rounds / 2], spent[0], bits);
#ifdef PROFILE
    if (argc > 2) adProfileAdj_showProfilesFile(argv[2]);
#endif
    free(spent);
    return 0;
}
