/* The events of an adjoint, and the routines that are open. */

#define _POSIX_C_SOURCE 200809L
#include "adjourn_profile.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

extern uint64_t adStack_getCurrentStackSize();

static __thread adj_state *self;
static adj_state *all_states;
static int threads;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

int64_t adj_clock(void) {
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (int64_t)now.tv_sec * 1000000000 + now.tv_nsec;
}

static adj_frame *push_frame(adj_state *s, int64_t site, int64_t context, int64_t entry,
                             int64_t held, int64_t now) {
    s->frames = adj_grow(s->frames, s->depth, &s->m_frames, sizeof *s->frames);
    adj_frame *frame = &s->frames[s->depth++];
    frame->site = site;
    frame->context = context;
    frame->entry = entry;
    frame->base = frame->size = frame->top = held;
    frame->mark = frame->began = now;
    frame->forward = 1;
    frame->behind = frame->repeat = 0;
    frame->n_entries = frame->n_pieces = frame->n_done = frame->n_episodes = 0;
    return frame;
}

static void add_piece(adj_frame *frame, int64_t now, int64_t held) {
    frame->pieces =
        adj_grow(frame->pieces, frame->n_pieces, &frame->m_pieces, sizeof *frame->pieces);
    adj_piece piece = {now - frame->mark, held - frame->size, 0};
    frame->pieces[frame->n_pieces++] = piece;
}

static void turn(adj_frame *frame, int64_t held, int64_t now) {
    add_piece(frame, now, held);
    frame->forward = 0;
    frame->mark = now;
    frame->behind = frame->n_entries;
}

static void end_episode(adj_state *s, adj_frame *frame, int64_t held, int64_t now) {
    if (frame->forward) turn(frame, held, now);
    frame->pieces[frame->behind].reverse += now - frame->mark;
    frame->episodes =
        adj_grow(frame->episodes, frame->n_episodes, &frame->m_episodes, sizeof *frame->episodes);
    adj_episode_of(s, frame, &frame->episodes[frame->n_episodes++]);
    frame->n_entries = frame->n_pieces = 0;
    frame->forward = 1;
    frame->behind = 0;
    frame->mark = now;
    frame->size = held;
}

static void snapshot_event(adj_state *s, int64_t site, int64_t held, int64_t now) {
    adj_frame *frame = &s->frames[s->depth - 1];
    if (!frame->forward) end_episode(s, frame, held, now);
    add_piece(frame, now, held);
    frame->entries =
        adj_grow(frame->entries, frame->n_entries, &frame->m_entries, sizeof *frame->entries);
    adj_entry entry = {site, held, now, 0, 0, 0, 0, -1};
    frame->entries[frame->n_entries++] = entry;
}

static adj_entry *last_entry(adj_state *s, int64_t site) {
    adj_frame *frame = &s->frames[s->depth - 1];
    if (frame->forward && frame->n_entries && frame->entries[frame->n_entries - 1].site == site)
        return &frame->entries[frame->n_entries - 1];
    s->dropped++;
    return NULL;
}

static void read_event(adj_state *s, int64_t site, int64_t held, int64_t now) {
    adj_frame *frame = &s->frames[s->depth - 1];
    int64_t at = (frame->forward ? frame->n_entries : frame->behind) - 1;
    while (at >= 0 && frame->entries[at].site != site) at--; /* those between were left early */
    if (at < 0) {
        s->dropped++;
        return;
    }
    if (frame->forward) turn(frame, held, now); /* it never turned */
    frame->pieces[frame->behind].reverse += now - frame->mark;
    frame->behind = at;
    frame->entries[at].began = now;
}

static void begin_reverse_event(adj_state *s, int64_t site, int64_t held, int64_t now) {
    adj_frame *frame = &s->frames[s->depth - 1];
    int64_t at = frame->behind;
    if (frame->forward || at >= frame->n_entries || frame->entries[at].site != site) {
        s->dropped++;
        return;
    }
    frame->entries[at].read = now - frame->entries[at].began;
    push_frame(s, site, adj_context(s, frame->context, site), at, held, now);
}

static void close_frame(adj_state *s, adj_frame *frame, adj_entry *entry, int64_t now) {
    int external = frame->forward && !frame->n_entries && !frame->n_episodes;
    int64_t sequence;
    adj_piece whole = {now - frame->began, 0, 0};
    if (external) {
        adj_token leaf = {ADJ_LEAF, 0, 0};
        sequence = adj_sequence_of(s, &leaf, 1);
    } else {
        end_episode(s, frame, frame->size, now);
        sequence = adj_join(s, frame);
    }
    entry->node =
        adj_node_of(s, frame, entry, sequence, external, external ? frame->top - frame->base : 0);
    adj_node *node = &s->nodes[entry->node];
    adj_sample(s, node->slots, sequence, external ? &whole : frame->done);
    adj_stat_add(&node->advance, entry->advance);
    adj_stat_add(&node->copy, entry->write + entry->read);
    s->sites[frame->site].times++;
}

static void end_reverse_event(adj_state *s, int64_t site, int64_t held, int64_t now) {
    int64_t depth = s->depth - 1;
    while (depth > 0 && s->frames[depth].site != site) depth--;
    if (depth == 0) {
        s->dropped++;
        return;
    }
    s->dropped += s->depth - 1 - depth; /* frames left by an exception */
    s->depth = depth;
    adj_frame *frame = &s->frames[depth], *caller = &s->frames[depth - 1];
    if (frame->top > caller->top) caller->top = frame->top;
    close_frame(s, frame, &caller->entries[frame->entry], now);
    caller->mark = now;
    caller->size = held;
}

/* ------------------------------------------------------------------------------ sites ---- */

typedef struct {
    adj_state *state;
    char *name, *file;
    unsigned int line;
} place_t;

static int same_site(void *key, int64_t number) {
    place_t *k = key;
    adj_site *other = &k->state->sites[number];
    return other->line == k->line && !strcmp(other->name, k->name) && !strcmp(other->file, k->file);
}

static int same_pointer(void *key, int64_t number) {
    place_t *k = key;
    return k->state->pointers[number].name == k->name &&
           k->state->pointers[number].file == k->file && k->state->pointers[number].line == k->line;
}

static uint64_t hash_text(uint64_t hash, const char *text) {
    while (*text) hash = (hash ^ (unsigned char)*text++) * 0x100000001b3u;
    return adj_mix(hash, 0);
}

static int64_t named_site(adj_state *s, place_t *key) {
    uint64_t hash = hash_text(hash_text(adj_mix(4, key->line), key->name), key->file);
    int64_t *place = adj_find(&s->site_of, hash, same_site, key);
    if (*place < 0) {
        s->sites = adj_grow(s->sites, s->n_sites, &s->m_sites, sizeof *s->sites);
        adj_site made = {strdup(key->name), strdup(key->file), key->line, 0};
        s->sites[s->n_sites] = made;
        *place = s->n_sites++;
    }
    return *place;
}

/* The same texts come at the same addresses most of the time: those are looked at first, and
 * believed only if what is written there is still the same (Fortran builds texts on the stack). */
static int64_t find_site(adj_state *s, char *name, char *file, unsigned int line) {
    place_t key = {s, name ? name : "", file ? file : "", line};
    uint64_t hash = adj_mix(adj_mix(adj_mix(5, (uint64_t)(uintptr_t)key.name),
                                    (uint64_t)(uintptr_t)key.file), line);
    int64_t *place = adj_find(&s->pointer_of, hash, same_pointer, &key);
    if (*place < 0) {
        s->pointers = adj_grow(s->pointers, s->n_pointers, &s->m_pointers, sizeof *s->pointers);
        *place = s->n_pointers++;
        s->pointers[*place].name = key.name;
        s->pointers[*place].file = key.file;
        s->pointers[*place].line = line;
        s->pointers[*place].site = named_site(s, &key);
    }
    int64_t site = s->pointers[*place].site;
    if (!same_site(&key, site)) site = s->pointers[*place].site = named_site(s, &key);
    return site;
}

/* --------------------------------------------------------------------- states, the end ---- */

static const char *rank_text(void) {
    static const char *names[] = {"OMPI_COMM_WORLD_RANK", "PMIX_RANK", "PMI_RANK",
                                  "MV2_COMM_WORLD_RANK", "SLURM_PROCID"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (getenv(names[i])) return getenv(names[i]);
    return "0";
}

static void write_all(void) {
    const char *base = getenv("ADJOURN_TREE");
    char path[4096];
    pthread_mutex_lock(&lock);
    for (adj_state *s = all_states; s; s = s->next) {
        if (!s->n_nodes) continue;
        int used = snprintf(path, sizeof path, "%s.%s", base ? base : "tree", rank_text());
        if (used < 0 || used > (int)sizeof path - 32) continue;
        if (s->thread) used += sprintf(path + used, ".t%d", s->thread);
        strcpy(path + used, ".json");
        FILE *file = fopen(path, "w");
        if (!file) {
            fprintf(stderr, "adjourn: cannot write %s; set ADJOURN_TREE\n", path);
            continue;
        }
        adj_write_tree(s, file);
        if (fclose(file)) fprintf(stderr, "adjourn: %s is incomplete\n", path);
    }
    pthread_mutex_unlock(&lock);
}

static adj_state *new_state(void) {
    adj_state *s = calloc(1, sizeof *s);
    if (!s) {
        fputs("adjourn: out of memory while profiling\n", stderr);
        exit(1);
    }
    push_frame(s, -1, adj_context(s, -1, -1), -1, 0, -1);
    return s;
}

enum { SNP, BEGIN_ADVANCE, END_ADVANCE, READ, BEGIN_REVERSE, TURN, END_REVERSE };

static void event(adj_state *s, int kind, char *name, char *file, unsigned int line) {
    int64_t now = adj_clock();
    int64_t held = (int64_t)adStack_getCurrentStackSize();
    adj_frame *frame = &s->frames[s->depth - 1];
    if (frame->mark < 0) frame->mark = now;
    if (held > frame->top) frame->top = held;
    if (kind == TURN) {
        if (frame->forward) turn(frame, held, now);
        else s->dropped++;
        return;
    }
    int64_t site = find_site(s, name, file, line);
    adj_entry *entry;
    switch (kind) {
    case SNP:
        snapshot_event(s, site, held, now);
        break;
    case BEGIN_ADVANCE:
        if ((entry = last_entry(s, site))) {
            entry->snapshot = held > entry->before ? held - entry->before : 0;
            entry->write = now - entry->began;
            entry->began = now;
        }
        break;
    case END_ADVANCE:
        if ((entry = last_entry(s, site))) {
            entry->advance = now - entry->began;
            frame->mark = now;
            frame->size = held;
        }
        break;
    case READ:
        read_event(s, site, held, now);
        break;
    case BEGIN_REVERSE:
        begin_reverse_event(s, site, held, now);
        break;
    default:
        end_reverse_event(s, site, held, now);
    }
}

/* Play calls of an empty routine on a state of its own, to know what an event costs. */
static int64_t calibrate(void) {
    adj_state *s = new_state();
    char *name = "x", *file = "y";
    int64_t best = INT64_MAX;
    for (int round = 0; round < 5; round++) {
        int64_t began = adj_clock();
        for (int i = 0; i < 200; i++)
            for (int kind = SNP; kind <= END_REVERSE; kind++) event(s, kind, name, file, 1);
        int64_t spent = (adj_clock() - began) / (200 * 7);
        if (spent < best) best = spent;
    }
    return best; /* the state is small and stays */
}

static adj_state *state(void) {
    if (self) return self;
    self = new_state();
    self->overhead = calibrate();
    pthread_mutex_lock(&lock);
    if (!all_states) atexit(write_all);
    self->thread = threads++;
    self->next = all_states;
    all_states = self;
    pthread_mutex_unlock(&lock);
    return self;
}

void adProfileAdj_SNPWrite(char *callname, char *filename, unsigned int lineno) {
    event(state(), SNP, callname, filename, lineno);
}
void adProfileAdj_beginAdvance(char *callname, char *filename, unsigned int lineno) {
    event(state(), BEGIN_ADVANCE, callname, filename, lineno);
}
void adProfileAdj_endAdvance(char *callname, char *filename, unsigned int lineno) {
    event(state(), END_ADVANCE, callname, filename, lineno);
}
void adProfileAdj_SNPRead(char *callname, char *filename, unsigned int lineno) {
    event(state(), READ, callname, filename, lineno);
}
void adProfileAdj_beginReverse(char *callname, char *filename, unsigned int lineno) {
    event(state(), BEGIN_REVERSE, callname, filename, lineno);
}
void adProfileAdj_endReverse(char *callname, char *filename, unsigned int lineno) {
    event(state(), END_REVERSE, callname, filename, lineno);
}
void adProfileAdj_turn(char *callname, char *filename) {
    event(state(), TURN, callname, filename, 0);
}

/* The reverse of a fixed-point iteration runs the same recorded calls again and again. */
void adProfileAdj_startRepeat(void) {
    adj_state *s = state();
    s->frames[s->depth - 1].repeat = s->frames[s->depth - 1].behind;
}
void adProfileAdj_resetRepeat(void) {
    adj_state *s = state();
    s->frames[s->depth - 1].behind = s->frames[s->depth - 1].repeat;
}
void adProfileAdj_endRepeat(void) {}

void adProfileAdj_showProfilesFile(char *filename) {
    FILE *file = filename && *filename ? fopen(filename, "w") : stdout;
    if (!file) {
        fprintf(stderr, "adjourn: cannot write %s\n", filename ? filename : "the report");
        return;
    }
    adj_write_report(state(), file);
    if (file != stdout) fclose(file);
}
void adProfileAdj_showProfiles(void) { adProfileAdj_showProfilesFile(NULL); }

/* Fortran: lower case with an underscore, everything by reference, texts ended by char(0). */
void adprofileadj_snpwrite_(char *callname, char *filename, unsigned int *lineno) {
    adProfileAdj_SNPWrite(callname, filename, *lineno);
}
void adprofileadj_beginadvance_(char *callname, char *filename, unsigned int *lineno) {
    adProfileAdj_beginAdvance(callname, filename, *lineno);
}
void adprofileadj_endadvance_(char *callname, char *filename, unsigned int *lineno) {
    adProfileAdj_endAdvance(callname, filename, *lineno);
}
void adprofileadj_snpread_(char *callname, char *filename, unsigned int *lineno) {
    adProfileAdj_SNPRead(callname, filename, *lineno);
}
void adprofileadj_beginreverse_(char *callname, char *filename, unsigned int *lineno) {
    adProfileAdj_beginReverse(callname, filename, *lineno);
}
void adprofileadj_endreverse_(char *callname, char *filename, unsigned int *lineno) {
    adProfileAdj_endReverse(callname, filename, *lineno);
}
void adprofileadj_turn_(char *callname, char *filename) { adProfileAdj_turn(callname, filename); }
void adprofileadj_startrepeat_(void) { adProfileAdj_startRepeat(); }
void adprofileadj_resetrepeat_(void) { adProfileAdj_resetRepeat(); }
void adprofileadj_endrepeat_(void) { adProfileAdj_endRepeat(); }
void adprofileadj_showprofilesfile_(char *filename) { adProfileAdj_showProfilesFile(filename); }
void adprofileadj_showprofiles_(void) { adProfileAdj_showProfiles(); }
