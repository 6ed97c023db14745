/* The tree as adjourn's JSON, and single-site gains in the form of Tapenade's report. */

#include "adjourn_profile.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

static void put_text(FILE *file, const char *text, char without) {
    fputc('"', file);
    for (; *text; text++) {
        unsigned char c = (unsigned char)*text;
        if (c == '"' || c == '\\') fprintf(file, "\\%c", c);
        else if (c < 0x20 || c == (unsigned char)without) fputc('_', file);
        else fputc(c, file);
    }
    fputc('"', file);
}

static const char *last_part(const char *path) {
    const char *slash = strrchr(path, '/');
    return slash ? slash + 1 : path;
}

/* Seconds of the pieces and of the plain runs of the calls of a sequence. */
static int64_t totals(adj_state *s, int64_t sequence, adj_slot *slots, int64_t at, double times,
                      double *recording, double *called) {
    adj_sequence *one = &s->sequences[sequence];
    for (int64_t i = 0; i < one->count; i++) {
        adj_token token = one->tokens[i];
        if (token.kind == ADJ_REPEAT) {
            at = totals(s, token.b, slots, at, times * (double)token.a, recording, called);
            continue;
        }
        *recording += times * adj_typical(&slots[at++].record, s->overhead);
        if (token.kind == ADJ_CALL) *called += times * s->nodes[token.a].primal;
    }
    return at;
}

static int64_t put_items(adj_state *s, FILE *file, int64_t sequence, adj_slot *slots, int64_t at,
                         double share, double times, double *primal) {
    adj_sequence *one = &s->sequences[sequence];
    int first = 1;
    for (int64_t i = 0; i < one->count; i++) {
        adj_token token = one->tokens[i];
        if (token.kind == ADJ_REPEAT) {
            fprintf(file, "%s{\"times\":%" PRId64 ",\"body\":[", first ? "" : ",", token.a);
            at = put_items(s, file, token.b, slots, at, share, times * (double)token.a, primal);
            fputs("]}", file);
            first = 0;
            continue;
        }
        adj_slot *slot = &slots[at++];
        double record = adj_typical(&slot->record, s->overhead);
        double seconds = record + adj_typical(&slot->reverse, s->overhead);
        double advance = record * share;
        int64_t left = token.kind == ADJ_LEAF ? token.a : 0;
        if (seconds < advance) seconds = advance;
        if (seconds > 0 || left) {
            fprintf(file,
                    "%s{\"advance\":%.9g,\"seconds\":%.9g,\"left\":%" PRId64 ",\"peak\":%" PRId64
                    ",\"record\":%.9g,\"spread\":%.3g,\"samples\":%" PRId64 "}",
                    first ? "" : ",", advance, seconds, left, left, record,
                    adj_spread(&slot->record) + adj_spread(&slot->reverse), slot->record.count);
            *primal += times * advance;
            first = 0;
        }
        if (token.kind == ADJ_CALL) {
            fprintf(file, "%s%" PRId64, first ? "" : ",", token.a);
            *primal += times * s->nodes[token.a].primal;
            first = 0;
        }
    }
    return at;
}

static void put_node(adj_state *s, FILE *file, adj_node *node) {
    adj_site *site = &s->sites[node->site];
    const char *name = *site->name ? site->name : "checkpoint";
    char label[1024];
    snprintf(label, sizeof label, "%s@%s:%u", name, last_part(site->file), site->line);
    fputs("{\"site\":", file);
    put_text(file, label, '/');
    fprintf(file, ",\"snapshot\":%" PRId64 ",\"copy\":%.9g,\"routine\":", node->snapshot,
            adj_typical(&node->copy, 2 * s->overhead));
    put_text(file, name, 0);
    fputs(",\"file\":", file);
    put_text(file, site->file, 0);
    fprintf(file, ",\"line\":%u,\"spread\":%.3g,\"samples\":%" PRId64 ",\"keep\":%s%s,\"body\":[",
            site->line, adj_spread(&node->copy), node->copy.count, node->keep ? "true" : "false",
            node->external ? ",\"external\":true" : "");
    double advance = adj_typical(&node->advance, s->overhead);
    if (node->external) {
        double seconds = adj_typical(&node->slots[0].record, s->overhead);
        if (seconds < advance) seconds = advance;
        fprintf(file,
                "{\"advance\":%.9g,\"seconds\":%.9g,\"left\":0,\"peak\":%" PRId64
                ",\"spread\":%.3g,\"samples\":%" PRId64 "}",
                advance, seconds, node->peak, adj_spread(&node->slots[0].record),
                node->slots[0].record.count);
        node->primal = advance;
    } else {
        double recording = 0, called = 0;
        totals(s, node->sequence, node->slots, 0, 1, &recording, &called);
        double own = advance > called ? advance - called : 0;
        node->primal = 0;
        put_items(s, file, node->sequence, node->slots, 0, recording > 0 ? own / recording : 0, 1,
                  &node->primal);
    }
    fputs("]}", file);
}

/* Seconds of a plain run of each node: what its calls take counts at least. */
static void compose(adj_state *s) {
    for (int64_t i = 0; i < s->n_nodes; i++) {
        adj_node *node = &s->nodes[i];
        double advance = adj_typical(&node->advance, s->overhead), recording = 0, called = 0;
        if (!node->external)
            totals(s, node->sequence, node->slots, 0, 1, &recording, &called);
        node->primal = node->external || (recording > 0 && advance > called) ? advance : called;
    }
}

/* End the root's last adjoint; return the sequence that most of its adjoints have, or -1. */
static int64_t finish_root(adj_state *s, int64_t *same) {
    adj_frame *root = &s->frames[0];
    if (!root->forward) {
        root->episodes = adj_grow(root->episodes, root->n_episodes, &root->m_episodes,
                                  sizeof *root->episodes);
        adj_episode_of(s, root, &root->episodes[root->n_episodes++]);
        root->n_entries = root->n_pieces = 0;
        root->forward = 1;
        root->behind = 0;
    }
    int64_t best = -1;
    *same = 0;
    for (int64_t i = 0; i < root->n_episodes; i++) {
        int64_t count = 0;
        for (int64_t k = 0; k < root->n_episodes; k++)
            count += root->episodes[k].sequence == root->episodes[i].sequence;
        if (count > *same) {
            *same = count;
            best = root->episodes[i].sequence;
        }
        if (2 * count > root->n_episodes) break;
    }
    return best;
}

void adj_write_tree(adj_state *s, FILE *file) {
    int64_t same, best = finish_root(s, &same);
    adj_frame *root = &s->frames[0];
    fputs("{\"schema\":\"adjourn.calltree/1\",\n\"note\":\"adjourn profile", file);
    if (same < root->n_episodes)
        fprintf(file, "; %" PRId64 " of %" PRId64 " adjoints, the others differ", same,
                root->n_episodes);
    if (s->dropped)
        fprintf(file, "; %" PRId64 " events or calls were never completed", s->dropped);
    if (s->rounded) fprintf(file, "; bytes of %" PRId64 " pieces were rounded up", s->rounded);
    fputs("\",\n\"nodes\":[\n", file);
    for (int64_t i = 0; i < s->n_nodes; i++) {
        if (i) fputs(",\n", file);
        put_node(s, file, &s->nodes[i]);
    }
    fputs("],\n\"body\":[\n", file);
    if (best >= 0) {
        adj_slot *slots = calloc((size_t)s->sequences[best].places, sizeof *slots);
        double primal = 0;
        for (int64_t i = 0; slots && i < root->n_episodes; i++)
            if (root->episodes[i].sequence == best)
                adj_sample(s, slots, best, root->done + root->episodes[i].pieces);
        if (slots) put_items(s, file, best, slots, 0, 1, 1, &primal);
        free(slots);
    }
    fputs("\n]}\n", file);
}

/* ------------------------------------------------------------------ single-site figures ---- */

/* Bytes left and at the peak, as it is and with each site split: the full union of sites. */
typedef struct {
    int64_t left, peak;
    int64_t *lefts, *peaks; /* by site; -1 where the site is not within */
} bytes_t;

static bytes_t new_bytes(adj_state *s) {
    bytes_t made = {0, 0, malloc((size_t)s->n_sites * 8 + 8), malloc((size_t)s->n_sites * 8 + 8)};
    if (!made.lefts || !made.peaks) {
        fputs("adjourn: out of memory while reporting\n", stderr);
        exit(1);
    }
    for (int64_t x = 0; x < s->n_sites; x++) made.lefts[x] = made.peaks[x] = -1;
    return made;
}

static void free_bytes(bytes_t *b) {
    free(b->lefts);
    free(b->peaks);
}

static int64_t larger(int64_t x, int64_t y) { return x > y ? x : y; }

/* Put what runs later behind what ran first, `times` times the latter. */
static void join_bytes(adj_state *s, bytes_t *to, const bytes_t *then, int64_t times) {
    for (int64_t x = 0; x < s->n_sites; x++) {
        if (to->lefts[x] < 0 && then->lefts[x] < 0) continue;
        int64_t left = to->lefts[x] < 0 ? to->left : to->lefts[x];
        int64_t peak = to->lefts[x] < 0 ? to->peak : to->peaks[x];
        int64_t more = then->lefts[x] < 0 ? then->left : then->lefts[x];
        int64_t high = then->lefts[x] < 0 ? then->peak : then->peaks[x];
        to->peaks[x] = larger(peak, left + (times - 1) * more + high);
        to->lefts[x] = left + times * more;
    }
    to->peak = larger(to->peak, to->left + (times - 1) * then->left + then->peak);
    to->left += times * then->left;
}

static int64_t joint_peak(const adj_node *node, int64_t peak) {
    return node->keep ? node->snapshot + peak : larger(node->snapshot, peak);
}

static bytes_t bytes_of(adj_state *s, int64_t sequence, bytes_t *calls) {
    bytes_t total = new_bytes(s);
    adj_sequence *one = &s->sequences[sequence];
    for (int64_t i = 0; i < one->count; i++) {
        adj_token token = one->tokens[i];
        if (token.kind == ADJ_CALL) {
            join_bytes(s, &total, &calls[token.a], 1);
        } else if (token.kind == ADJ_REPEAT) {
            bytes_t inner = bytes_of(s, token.b, calls);
            join_bytes(s, &total, &inner, token.a);
            free_bytes(&inner);
        } else {
            bytes_t leaf = new_bytes(s);
            leaf.left = leaf.peak = token.a;
            join_bytes(s, &total, &leaf, 1);
            free_bytes(&leaf);
        }
    }
    return total;
}

typedef struct {
    int64_t site, gain, peak;
    double ratio;
} line_t;

static adj_site *names; /* for the comparison */

static int in_order(const void *a, const void *b) {
    const line_t *x = a, *y = b;
    if (x->peak > 0 && y->peak > 0) return (x->ratio < y->ratio) - (x->ratio > y->ratio);
    int by_name = strcmp(names[x->site].name, names[y->site].name);
    return by_name ? by_name : (x->site > y->site) - (x->site < y->site);
}

static void put_line(adj_state *s, FILE *file, const line_t *line) {
    adj_site *site = &s->sites[line->site];
    int64_t milliseconds = line->gain / 1000000;
    fprintf(file, "  - Time gain -%2" PRId64 ".%03" PRId64 " s.", milliseconds / 1000,
            milliseconds % 1000);
    if (line->peak < 0) fprintf(file, " and peak memory gain %" PRId64 "b", line->peak);
    else if (!line->peak) fputs(" at peak memory cost zero", file);
    else fprintf(file, " at peak memory cost %4" PRId64 ".%06" PRId64 " Mb", line->peak / 1000000,
                 line->peak % 1000000);
    if (*site->name) fprintf(file, " for call %s (%" PRId64 " times), at", site->name, site->times);
    else fprintf(file, " for checkpoint (%" PRId64 " times) starting at", site->times);
    fprintf(file, " location#%" PRId64 ": line %u of file %s\n", line->site + 1, site->line,
            site->file);
}

void adj_write_report(adj_state *s, FILE *file) {
    int64_t same, best = finish_root(s, &same), count = 0;
    bytes_t *calls = malloc((size_t)s->n_nodes * sizeof *calls + 1);
    line_t *lines = malloc((size_t)s->n_sites * sizeof *lines + 1);
    if (!calls || !lines || best < 0) {
        free(calls);
        free(lines);
        fputs("PEAK STACK:0 bytes\nSUGGESTED NOCHECKPOINTs:\n", file);
        return;
    }
    for (int64_t i = 0; i < s->n_nodes; i++) { /* what a node calls has a smaller number */
        adj_node *node = &s->nodes[i];
        bytes_t body = bytes_of(s, node->sequence, calls);
        if (node->external) body.peak = node->peak;
        calls[i] = body;
        bytes_t *joint = &calls[i];
        int64_t x = node->site;
        int64_t split_left = body.lefts[x] < 0 ? body.left : body.lefts[x];
        int64_t split_peak = body.lefts[x] < 0 ? body.peak : body.peaks[x];
        for (int64_t y = 0; y < s->n_sites; y++)
            if (joint->lefts[y] >= 0) {
                joint->peaks[y] = joint_peak(node, joint->peaks[y]);
                joint->lefts[y] = node->snapshot;
            }
        joint->peak = joint_peak(node, body.peak);
        joint->left = node->snapshot;
        if (!node->external) {
            joint->lefts[x] = split_left;
            joint->peaks[x] = split_peak;
        }
    }
    compose(s);
    bytes_t whole = bytes_of(s, best, calls);
    for (int64_t x = 0; x < s->n_sites; x++) {
        if (whole.lefts[x] < 0) continue;
        double gain = 0; /* of all occurrences: two copies of the snapshot and the second run */
        for (int64_t i = 0; i < s->n_nodes; i++)
            if (s->nodes[i].site == x)
                gain += (double)s->nodes[i].advance.count *
                        (s->nodes[i].primal +
                         adj_typical(&s->nodes[i].copy, 2 * s->overhead));
        line_t line = {x, (int64_t)(gain * 1e9), whole.peaks[x] - whole.peak, 0};
        if (line.peak > 0) line.ratio = (double)line.gain / (double)line.peak;
        lines[count++] = line;
    }
    names = s->sites;
    qsort(lines, (size_t)count, sizeof *lines, in_order);
    fprintf(file, "PEAK STACK:%" PRId64 " bytes\nSUGGESTED NOCHECKPOINTs:\n", whole.peak);
    static const char *titles[] = {"gain", "neutral", "cost"};
    for (int part = 0; part < 3; part++) {
        fprintf(file, " * Peak memory %s:\n", titles[part]);
        for (int64_t i = 0; i < count; i++)
            if ((lines[i].peak < 0 ? 0 : lines[i].peak == 0 ? 1 : 2) == part)
                put_line(s, file, &lines[i]);
    }
    free_bytes(&whole);
    for (int64_t i = 0; i < s->n_nodes; i++) free_bytes(&calls[i]);
    free(calls);
    free(lines);
}
