/* adjourn: the runtime behind the calls that Tapenade's -profile puts into an adjoint.
 *
 * It keeps the whole call tree, compressed, and writes it when the program ends, one file a rank:
 *
 *     $ADJOURN_TREE.<rank>.json        (by default tree.<rank>.json)
 *
 * which `adjourn tapenade` and adjourn.CallTree.from_json read. Compile the three C files and link
 * them in place of ADFirstAidKit/adProfile.c. They need adStack_getCurrentStackSize() and a POSIX
 * clock. Further threads write $ADJOURN_TREE.<rank>.t<number>.json.
 *
 * Memory: a structure for each distinct call (context, bytes and calls within), and one entry for
 * each joint call of the routines that are open. No fixed sizes; errors never stop the program.
 */
#ifndef ADJOURN_PROFILE_H
#define ADJOURN_PROFILE_H

#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

/* What the generated code calls. */
void adProfileAdj_SNPWrite(char *callname, char *filename, unsigned int lineno);
void adProfileAdj_beginAdvance(char *callname, char *filename, unsigned int lineno);
void adProfileAdj_endAdvance(char *callname, char *filename, unsigned int lineno);
void adProfileAdj_SNPRead(char *callname, char *filename, unsigned int lineno);
void adProfileAdj_beginReverse(char *callname, char *filename, unsigned int lineno);
void adProfileAdj_endReverse(char *callname, char *filename, unsigned int lineno);
void adProfileAdj_turn(char *callname, char *filename);
void adProfileAdj_startRepeat(void);
void adProfileAdj_resetRepeat(void);
void adProfileAdj_endRepeat(void);
/* Print single-site gains in the form of Tapenade's own report. The tree is written in any case. */
void adProfileAdj_showProfiles(void);
void adProfileAdj_showProfilesFile(char *filename);

/* ---------------------------------------------------------------- internal from here on ---- */

#define ADJ_SAMPLES 31  /* kept of each figure, evenly over the run */
#define ADJ_PERIOD 64   /* longest stretch of calls that is looked for as a repeat */
#define ADJ_VARIANTS 32 /* calls of one context with different bytes before bytes are rounded up */

typedef struct {
    int64_t kept[ADJ_SAMPLES];
    int used;
    int64_t count, sum, middle, most;
    uint64_t seed;
} adj_stat;

typedef struct {
    adj_stat record, reverse;
} adj_slot;

/* A leaf (a: bytes left), a call (a: node) or a repeat (a: times, b: sequence). */
typedef struct {
    int64_t kind, a, b;
} adj_token;
enum { ADJ_LEAF, ADJ_CALL, ADJ_REPEAT };

typedef struct {
    adj_token *tokens;
    int64_t count, places; /* places: leaves and calls, those of a repeat once */
} adj_sequence;

typedef struct {
    int64_t context, site, snapshot, peak, sequence;
    int external, keep;
    adj_slot *slots;
    adj_stat advance, copy;
    double primal; /* while writing */
} adj_node;

typedef struct {
    char *name, *file;
    unsigned int line;
    int64_t times; /* how often it was reversed */
} adj_site;

/* Times of one piece of a routine, and the bytes it pushed. */
typedef struct {
    int64_t record, left, reverse;
} adj_piece;

/* A joint call, from its snapshot until it was reversed. */
typedef struct {
    int64_t site, before, began, snapshot, write, advance, read, node;
} adj_entry;

typedef struct {
    int64_t sequence;
    int64_t pieces; /* where its pieces begin in the frame's list of done pieces */
    int64_t count;
} adj_episode;

typedef struct {
    int64_t site, context, entry, base, mark, size, top, began, behind, repeat;
    int forward;
    adj_entry *entries;
    adj_piece *pieces, *done; /* done: of episodes that ended, one for each token written out */
    adj_episode *episodes;
    int64_t n_entries, n_pieces, n_done, n_episodes;
    int64_t m_entries, m_pieces, m_done, m_episodes; /* room */
} adj_frame;

/* A table from hashes to numbers, by open addressing. */
typedef struct {
    uint64_t *hashes;
    int64_t *values, room, used;
} adj_table;

typedef struct adj_state {
    struct adj_state *next;
    int thread;
    int64_t overhead, dropped, rounded;
    adj_site *sites;
    int64_t n_sites, m_sites;
    adj_node *nodes;
    int64_t n_nodes, m_nodes;
    adj_sequence *sequences;
    int64_t n_sequences, m_sequences;
    int64_t *variants; /* nodes of each context */
    int64_t n_contexts, m_contexts;
    adj_table site_of, pointer_of, node_of, sequence_of, context_of;
    struct {
        char *name, *file;
        unsigned int line;
        int64_t site;
    } *pointers;
    int64_t n_pointers, m_pointers;
    struct {
        int64_t caller, site;
    } *contexts;
    adj_frame *frames; /* the open ones and, beyond, their memory for reuse */
    int64_t depth, m_frames;
    adj_token *scratch;
    int64_t m_scratch;
} adj_state;

int64_t adj_clock(void);
void *adj_grow(void *list, int64_t used, int64_t *room, size_t size);
uint64_t adj_mix(uint64_t hash, uint64_t value);
int64_t *adj_find(adj_table *table, uint64_t hash, int (*same)(void *, int64_t), void *key);

void adj_stat_add(adj_stat *stat, int64_t value);
double adj_quantile(const adj_stat *stat, double part);
double adj_typical(const adj_stat *stat, int64_t overhead);
double adj_spread(const adj_stat *stat);

int64_t adj_context(adj_state *s, int64_t caller, int64_t site);
int64_t adj_sequence_of(adj_state *s, const adj_token *tokens, int64_t count);
int64_t adj_fold(adj_state *s, adj_token *tokens, int64_t count);
int64_t adj_round_up(int64_t nbytes);
/* Take an episode of a frame that has turned: its tokens become a sequence, its pieces are done. */
void adj_episode_of(adj_state *s, adj_frame *frame, adj_episode *made);
int64_t adj_join(adj_state *s, adj_frame *frame);
int64_t adj_node_of(adj_state *s, adj_frame *frame, const adj_entry *entry, int64_t sequence,
                    int external, int64_t peak);
void adj_sample(adj_state *s, adj_slot *slots, int64_t sequence, const adj_piece *pieces);

void adj_write_tree(adj_state *s, FILE *file);
void adj_write_report(adj_state *s, FILE *file);

#endif
