/* The compressed call tree: statistics, repeats, and calls that are alike kept once. */

#include "adjourn_profile.h"

#include <stdlib.h>
#include <string.h>

void *adj_grow(void *list, int64_t used, int64_t *room, size_t size) {
    if (used < *room) return list;
    int64_t more = *room ? 2 * *room : 16;
    while (more <= used) more *= 2;
    void *grown = realloc(list, (size_t)more * size);
    if (!grown) {
        fputs("adjourn: out of memory while profiling\n", stderr);
        exit(1);
    }
    memset((char *)grown + (size_t)*room * size, 0, (size_t)(more - *room) * size);
    *room = more;
    return grown;
}

uint64_t adj_mix(uint64_t hash, uint64_t value) {
    hash ^= value + 0x9e3779b97f4a7c15u + (hash << 6) + (hash >> 2);
    hash *= 0xff51afd7ed558ccdu;
    return hash ^ (hash >> 32);
}

/* Return the place of a key's number; the number is -1 where the key is new. */
int64_t *adj_find(adj_table *table, uint64_t hash, int (*same)(void *, int64_t), void *key) {
    if (2 * table->used >= table->room) {
        int64_t room = table->room ? 2 * table->room : 64;
        uint64_t *hashes = calloc((size_t)room, sizeof *hashes);
        int64_t *values = malloc((size_t)room * sizeof *values);
        if (!hashes || !values) {
            fputs("adjourn: out of memory while profiling\n", stderr);
            exit(1);
        }
        for (int64_t i = 0; i < room; i++) values[i] = -1;
        for (int64_t i = 0; i < table->room; i++) {
            if (table->values[i] < 0) continue;
            int64_t at = (int64_t)(table->hashes[i] & (uint64_t)(room - 1));
            while (values[at] >= 0) at = (at + 1) & (room - 1);
            hashes[at] = table->hashes[i];
            values[at] = table->values[i];
        }
        free(table->hashes);
        free(table->values);
        table->hashes = hashes;
        table->values = values;
        table->room = room;
    }
    int64_t at = (int64_t)(hash & (uint64_t)(table->room - 1));
    while (table->values[at] >= 0) {
        if (table->hashes[at] == hash && same(key, table->values[at])) return &table->values[at];
        at = (at + 1) & (table->room - 1);
    }
    table->hashes[at] = hash;
    table->used++;
    return &table->values[at];
}

static void look(adj_stat *stat) {
    stat->middle = (int64_t)adj_quantile(stat, 0.5);
    stat->most = 8 * (int64_t)adj_quantile(stat, 0.75) + 20000;
}

/* The sum of the first samples, which are all kept; one far above the others (the program was
 * interrupted) counts as a middling one. */
static int64_t sum_kept(adj_stat *stat) {
    int64_t sum = 0;
    look(stat);
    for (int i = 0; i < stat->used; i++)
        sum += stat->kept[i] > stat->most ? stat->middle : stat->kept[i];
    return sum;
}

/* The mean of all samples, and some of them, drawn evenly, for the spread. */
void adj_stat_add(adj_stat *stat, int64_t value) {
    stat->count++;
    if (stat->used < ADJ_SAMPLES) {
        stat->kept[stat->used++] = value;
        if (stat->used == ADJ_SAMPLES) stat->sum = sum_kept(stat);
        return;
    }
    if (value > stat->most) value = stat->middle;
    stat->sum += value;
    stat->seed = stat->seed * 6364136223846793005u + 1442695040888963407u;
    int64_t at = (int64_t)((stat->seed >> 33) % (uint64_t)stat->count);
    if (at < ADJ_SAMPLES) stat->kept[at] = value;
    if (!(stat->count & 255)) look(stat);
}

static int rising(const void *a, const void *b) {
    int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;
    return (x > y) - (x < y);
}

double adj_quantile(const adj_stat *stat, double part) {
    int64_t sorted[ADJ_SAMPLES + 1];
    memcpy(sorted, stat->kept, (size_t)stat->used * sizeof *sorted);
    qsort(sorted, (size_t)stat->used, sizeof *sorted, rising);
    double at = part * (stat->used - 1);
    int below = (int)at;
    int above = below + 1 < stat->used ? below + 1 : below;
    return (double)sorted[below] + (at - below) * (double)(sorted[above] - sorted[below]);
}

double adj_typical(const adj_stat *stat, int64_t overhead) {
    if (!stat->used) return 0;
    adj_stat whole = *stat;
    if (whole.used < ADJ_SAMPLES) whole.sum = sum_kept(&whole);
    double value = (double)whole.sum / (double)whole.count - (double)overhead;
    return value > 0 ? value * 1e-9 : 0;
}

double adj_spread(const adj_stat *stat) {
    return stat->used < 4 ? 0 : (adj_quantile(stat, 0.75) - adj_quantile(stat, 0.25)) * 0.5e-9;
}

/* Sizes of a context that never repeats are rounded up to five significant bits. */
int64_t adj_round_up(int64_t nbytes) {
    int64_t unit = 64;
    while (nbytes / unit >= 32) unit *= 2;
    return (nbytes + unit - 1) / unit * unit;
}

typedef struct {
    adj_state *state;
    int64_t a, b;
    const adj_token *tokens;
    const adj_node *node;
} key_t_;

static int same_context(void *key, int64_t number) {
    key_t_ *k = key;
    return k->state->contexts[number].caller == k->a && k->state->contexts[number].site == k->b;
}

int64_t adj_context(adj_state *s, int64_t caller, int64_t site) {
    key_t_ key = {s, caller, site, NULL, NULL};
    uint64_t hash = adj_mix(adj_mix(1, (uint64_t)caller), (uint64_t)site);
    int64_t *place = adj_find(&s->context_of, hash, same_context, &key);
    if (*place < 0) {
        int64_t room = s->m_contexts;
        s->contexts = adj_grow(s->contexts, s->n_contexts, &room, sizeof *s->contexts);
        s->variants = adj_grow(s->variants, s->n_contexts, &s->m_contexts, sizeof *s->variants);
        s->contexts[s->n_contexts].caller = caller;
        s->contexts[s->n_contexts].site = site;
        *place = s->n_contexts++;
    }
    return *place;
}

static int same_tokens(const adj_token *x, const adj_token *y, int64_t count) {
    return !memcmp(x, y, (size_t)count * sizeof *x);
}

static int same_sequence(void *key, int64_t number) {
    key_t_ *k = key;
    adj_sequence *other = &k->state->sequences[number];
    return other->count == k->a && same_tokens(other->tokens, k->tokens, k->a);
}

int64_t adj_sequence_of(adj_state *s, const adj_token *tokens, int64_t count) {
    uint64_t hash = 2;
    int64_t places = 0;
    for (int64_t i = 0; i < count; i++) {
        hash = adj_mix(adj_mix(adj_mix(hash, (uint64_t)tokens[i].kind), (uint64_t)tokens[i].a),
                       (uint64_t)tokens[i].b);
        places += tokens[i].kind == ADJ_REPEAT ? s->sequences[tokens[i].b].places : 1;
    }
    key_t_ key = {s, count, 0, tokens, NULL};
    int64_t *place = adj_find(&s->sequence_of, hash, same_sequence, &key);
    if (*place < 0) {
        s->sequences =
            adj_grow(s->sequences, s->n_sequences, &s->m_sequences, sizeof *s->sequences);
        adj_sequence *made = &s->sequences[s->n_sequences];
        int64_t room = 0;
        made->tokens = adj_grow(NULL, count, &room, sizeof *made->tokens);
        memcpy(made->tokens, tokens, (size_t)count * sizeof *tokens);
        made->count = count;
        made->places = places;
        *place = s->n_sequences++;
    }
    return *place;
}

static int64_t fold_period(adj_state *s, adj_token *tokens, int64_t count, int64_t period) {
    int64_t at = 0, to = 0;
    while (at < count) {
        int64_t stop = at + period;
        while (stop < count && same_tokens(&tokens[stop], &tokens[stop - period], 1)) stop++;
        int64_t times = (stop - at) / period;
        if (times < 2) {
            tokens[to++] = tokens[at++];
            continue;
        }
        int64_t sequence = adj_sequence_of(s, &tokens[at], period);
        adj_token repeat = {ADJ_REPEAT, times, sequence};
        tokens[to++] = repeat;
        at += times * period;
    }
    return to;
}

/* Fold equal stretches, one after the other, into repeats, until nothing is folded. */
int64_t adj_fold(adj_state *s, adj_token *tokens, int64_t count) {
    int64_t before;
    do {
        before = count;
        for (int64_t period = 1; period <= ADJ_PERIOD && 2 * period <= count; period++)
            count = fold_period(s, tokens, count, period);
    } while (count < before);
    return count;
}

void adj_episode_of(adj_state *s, adj_frame *frame, adj_episode *made) {
    int rounding = frame->entry >= 0 && s->variants[frame->context] >= ADJ_VARIANTS;
    int64_t count = 0;
    adj_piece carried = {0, 0, 0};
    made->pieces = frame->n_done;
    for (int64_t i = 0; i < frame->n_pieces; i++) {
        adj_piece whole = frame->pieces[i];
        whole.record += carried.record;
        whole.left += carried.left;
        whole.reverse += carried.reverse;
        int last = i == frame->n_entries;
        if (!last && frame->entries[i].node < 0) { /* never reversed: part of what is around it */
            s->dropped++;
            whole.left += frame->entries[i].snapshot;
            carried = whole;
            continue;
        }
        memset(&carried, 0, sizeof carried);
        int64_t left = whole.left > 0 ? whole.left : 0;
        if (rounding && left) {
            left = adj_round_up(left);
            s->rounded++;
        }
        s->scratch = adj_grow(s->scratch, count + 1, &s->m_scratch, sizeof *s->scratch);
        frame->done = adj_grow(frame->done, frame->n_done + 1, &frame->m_done, sizeof *frame->done);
        if (left || last) {
            adj_token leaf = {ADJ_LEAF, left, 0};
            s->scratch[count++] = leaf;
            frame->done[frame->n_done++] = whole;
        }
        if (!last) {
            adj_token call = {ADJ_CALL, frame->entries[i].node, 0};
            s->scratch[count++] = call;
            if (left) whole.record = -1; /* the piece before the call has a place of its own */
            frame->done[frame->n_done++] = whole;
        }
    }
    count = adj_fold(s, s->scratch, count);
    made->sequence = adj_sequence_of(s, s->scratch, count);
    made->count = frame->n_done - made->pieces;
}

/* Return the sequence of all episodes, equal ones next to each other as a repeat. */
int64_t adj_join(adj_state *s, adj_frame *frame) {
    if (frame->n_episodes == 1) return frame->episodes[0].sequence;
    int64_t count = 0;
    for (int64_t i = 0, stop; i < frame->n_episodes; i = stop) {
        int64_t sequence = frame->episodes[i].sequence;
        for (stop = i; stop < frame->n_episodes && frame->episodes[stop].sequence == sequence;)
            stop++;
        adj_sequence *one = &s->sequences[sequence];
        s->scratch =
            adj_grow(s->scratch, count + one->count + 1, &s->m_scratch, sizeof *s->scratch);
        if (stop - i > 1) {
            adj_token repeat = {ADJ_REPEAT, stop - i, sequence};
            s->scratch[count++] = repeat;
        } else {
            memcpy(&s->scratch[count], one->tokens, (size_t)one->count * sizeof *one->tokens);
            count += one->count;
        }
    }
    return adj_sequence_of(s, s->scratch, count);
}

static int same_node(void *key, int64_t number) {
    key_t_ *k = key;
    const adj_node *x = k->node, *y = &k->state->nodes[number];
    return x->context == y->context && x->snapshot == y->snapshot && x->peak == y->peak &&
           x->sequence == y->sequence && x->external == y->external && x->keep == y->keep;
}

int64_t adj_node_of(adj_state *s, adj_frame *frame, const adj_entry *entry, int64_t sequence,
                    int external, int64_t peak) {
    adj_node node;
    memset(&node, 0, sizeof node);
    node.context = frame->context;
    node.site = frame->site;
    node.snapshot = entry->snapshot;
    if (s->variants[frame->context] >= ADJ_VARIANTS) {
        node.snapshot = adj_round_up(entry->snapshot);
        peak = adj_round_up(peak);
    }
    node.peak = peak;
    node.sequence = sequence;
    node.external = external;
    node.keep = entry->snapshot > 0 && frame->base >= entry->before + entry->snapshot;
    uint64_t hash = adj_mix(adj_mix(3, (uint64_t)node.context), (uint64_t)node.snapshot);
    hash = adj_mix(adj_mix(hash, (uint64_t)sequence), (uint64_t)(2 * node.keep + external));
    key_t_ key = {s, 0, 0, NULL, &node};
    int64_t *place = adj_find(&s->node_of, adj_mix(hash, (uint64_t)peak), same_node, &key);
    if (*place < 0) {
        s->nodes = adj_grow(s->nodes, s->n_nodes, &s->m_nodes, sizeof *s->nodes);
        int64_t room = 0;
        node.slots =
            adj_grow(NULL, s->sequences[sequence].places, &room, sizeof *node.slots);
        s->nodes[s->n_nodes] = node;
        s->variants[frame->context]++;
        *place = s->n_nodes++;
    }
    return *place;
}

static int64_t sample(adj_state *s, adj_slot *slots, int64_t sequence, const adj_piece **piece,
                      int64_t at) {
    const adj_sequence *one = &s->sequences[sequence];
    for (int64_t i = 0; i < one->count; i++) {
        adj_token token = one->tokens[i];
        if (token.kind == ADJ_REPEAT) {
            int64_t after = at;
            for (int64_t k = 0; k < token.a; k++) after = sample(s, slots, token.b, piece, at);
            at = after;
            continue;
        }
        if ((*piece)->record >= 0) {
            adj_stat_add(&slots[at].record, (*piece)->record);
            adj_stat_add(&slots[at].reverse, (*piece)->reverse);
        }
        ++*piece;
        at++;
    }
    return at;
}

void adj_sample(adj_state *s, adj_slot *slots, int64_t sequence, const adj_piece *pieces) {
    sample(s, slots, sequence, &pieces, 0);
}
