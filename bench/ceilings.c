/*
 * What this machine can do at best, measured in the same run as everything that is compared with it.
 *
 *     ceilings [--threads N]    speaks the worker's protocol; each answer has "value", "unit" and "cpu_us" besides:
 *                               {"bench": "fma", "us": ..., "n": ..., "value": 117.2, "unit": "GFLOP/s", ...}
 *
 * fma: products and sums of floats on registers. read_<size>: reading so many bytes again and again, each thread its
 * own. copy_256m: copying with stores past the caches, both ways counted. flat_plan: a list of 10000 operations that do
 * nothing, called one after the other by pointer (one thread). file_write, file_read: 100 MB into and out of a file in
 * memory.
 */
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>
#ifdef __x86_64__
#include <immintrin.h>
#endif

enum { most_threads = 256, plan_ops = 10000, file_bytes = 100000000 };

static double seconds_of(clockid_t clock)
{
    struct timespec time;
    clock_gettime(clock, &time);
    return (double)time.tv_sec + (double)time.tv_nsec * 1e-9;
}

/* One thread's share of a ceiling: memory of its own, and what it did. */
typedef struct share {
    const struct ceiling *ceiling;
    double seconds;
    pthread_barrier_t *start;
    void *memory;
    int64_t rounds; // calls of work
    double taken;   // seconds they took, and
    double busy;    // of the processor
    bool has_failed;
} share;

typedef struct ceiling {
    const char *name;
    const char *unit;
    double per_round; // of the unit, times 1e9: what one call of work does
    bool (*work)(share *share);
    size_t bytes; // of memory
    bool is_single;
    bool is_time; // the value is nanoseconds for each of per_round, not so many of them a nanosecond
} ceiling;

/* ---- Registers ---- */

enum { fma_accumulators = 12, fma_repeats = 20000 };

#ifdef __x86_64__
/* Twelve sums in registers, in assembly because compilers like to keep arrays of them in memory. */
#define FMA_STEP(reg, sum) "vfmadd231ps %%" reg "0, %%" reg "1, %%" reg sum "\n\t"
#define FMA_STEPS(reg)                                                                                                 \
    FMA_STEP(reg, "2") FMA_STEP(reg, "3") FMA_STEP(reg, "4") FMA_STEP(reg, "5") FMA_STEP(reg, "6") FMA_STEP(reg, "7")  \
    FMA_STEP(reg, "8") FMA_STEP(reg, "9") FMA_STEP(reg, "10") FMA_STEP(reg, "11") FMA_STEP(reg, "12")                  \
    FMA_STEP(reg, "13")
#define FMA_LOOP(reg)                                                                                                  \
    do {                                                                                                               \
        long repeats = fma_repeats;                                                                                    \
        __asm__ volatile("vzeroall\n1:\n\t" FMA_STEPS(reg) "dec %0\n\tjnz 1b\n\tvzeroupper"                           \
                         : "+r"(repeats)                                                                               \
                         :                                                                                             \
                         : "xmm0", "xmm1", "xmm2", "xmm3", "xmm4", "xmm5", "xmm6", "xmm7", "xmm8", "xmm9", "xmm10",    \
                           "xmm11", "xmm12", "xmm13", "xmm14", "xmm15", "cc");                                         \
    } while (0)

static void fma_512(void)
{
    FMA_LOOP("zmm");
}

static void fma_256(void)
{
    FMA_LOOP("ymm");
}

static int fma_lanes(void)
{
    return __builtin_cpu_supports("avx512f") ? 16 : __builtin_cpu_supports("fma") ? 8 : 0;
}
#else
static int fma_lanes(void)
{
    return 0;
}
#endif

/* Where the lanes are not known to us, whatever the compiler makes of it. */
__attribute__((noinline)) static void fma_plain(void)
{
    float sums[64];
    for (int i = 0; i < 64; i++)
        sums[i] = (float)i;
    for (int repeat = 0; repeat < fma_repeats; repeat++) {
        for (int i = 0; i < 64; i++)
            sums[i] += 0.5f * 0.25f;
        __asm__ volatile("" : : "r"(sums) : "memory");
    }
}

static bool fma_work(share *share)
{
    (void)share;
#ifdef __x86_64__
    if (fma_lanes() == 16) {
        fma_512();
        return true;
    }
    if (fma_lanes() == 8) {
        fma_256();
        return true;
    }
#endif
    fma_plain();
    return true;
}

static double fma_flops(void)
{
    return 2.0 * fma_repeats * (fma_lanes() > 0 ? fma_lanes() * fma_accumulators : 64);
}

/* ---- Memory ---- */

#ifdef __x86_64__
__attribute__((target("avx512f"), noinline)) static void read_512(const char *p, size_t bytes)
{
    for (const char *end = p + bytes; p < end; p += 512)
        for (int i = 0; i < 512; i += 64) {
            __m512i value = _mm512_load_si512((const void *)(p + i));
            __asm__ volatile("" : : "v"(value));
        }
}

__attribute__((target("avx2"), noinline)) static void read_256(const char *p, size_t bytes)
{
    for (const char *end = p + bytes; p < end; p += 256)
        for (int i = 0; i < 256; i += 32) {
            __m256i value = _mm256_load_si256((const __m256i *)(const void *)(p + i));
            __asm__ volatile("" : : "x"(value));
        }
}

__attribute__((noinline)) static void copy_past_caches(char *to, const char *from, size_t bytes)
{
    for (size_t i = 0; i < bytes; i += 16)
        _mm_stream_si128((__m128i *)(void *)(to + i), _mm_load_si128((const __m128i *)(const void *)(from + i)));
    _mm_sfence();
}
#else
static void copy_past_caches(char *to, const char *from, size_t bytes)
{
    memcpy(to, from, bytes);
}
#endif

__attribute__((noinline)) static void read_plain(const char *p, size_t bytes)
{
    for (size_t i = 0; i < bytes; i += 8) {
        uint64_t value = *(const uint64_t *)(const void *)(p + i);
        __asm__ volatile("" : : "r"(value));
    }
}

static bool read_work(share *share)
{
    size_t bytes = share->ceiling->bytes;
    // Small memory is read often in one call, so that the clock costs nothing.
    size_t repeats = bytes >= (1 << 22) ? 1 : (1 << 22) / bytes;
    for (size_t i = 0; i < repeats; i++) {
#ifdef __x86_64__
        if (fma_lanes() == 16)
            read_512(share->memory, bytes);
        else if (fma_lanes() == 8)
            read_256(share->memory, bytes);
        else
#endif
            read_plain(share->memory, bytes);
    }
    return true;
}

static bool copy_work(share *share)
{
    size_t half = share->ceiling->bytes / 2;
    copy_past_caches((char *)share->memory + half, share->memory, half);
    return true;
}

/* ---- A plan of nothing ---- */

typedef struct null_op {
    int (*run)(const struct null_op *op);
    const void *inputs;
    void *outputs;
    void *state;
} null_op;

__attribute__((noinline)) static int run_null_op(const null_op *op)
{
    __asm__ volatile("" : : "r"(op));
    return 0;
}

static bool plan_work(share *share)
{
    null_op *ops = share->memory;
    if (ops[0].run == NULL)
        for (int i = 0; i < plan_ops; i++)
            ops[i].run = run_null_op;
    __asm__ volatile("" : : "r"(ops) : "memory");
    for (int i = 0; i < plan_ops; i++)
        if (ops[i].run(&ops[i]) != 0)
            return false;
    return true;
}

/* ---- Files in memory ---- */

static bool write_file(const char *path, const char *bytes)
{
    int file = open(path, O_CREAT | O_TRUNC | O_WRONLY | O_CLOEXEC, 0600);
    size_t done = 0;
    while (file >= 0 && done < file_bytes) {
        ssize_t count = write(file, bytes + done, file_bytes - done);
        if (count <= 0)
            break;
        done += (size_t)count;
    }
    return file >= 0 && close(file) == 0 && done == file_bytes;
}

static bool read_file(const char *path, char *bytes)
{
    int file = open(path, O_RDONLY | O_CLOEXEC);
    size_t done = 0;
    while (file >= 0 && done < file_bytes) {
        ssize_t count = read(file, bytes + done, file_bytes - done);
        if (count <= 0)
            break;
        done += (size_t)count;
    }
    return file >= 0 && close(file) == 0 && done == file_bytes;
}

static void file_path(char *path, size_t size)
{
    const char *folder = access("/dev/shm", W_OK) == 0 ? "/dev/shm" : getenv("TMPDIR");
    snprintf(path, size, "%s/weir-ceilings-%ld", folder == NULL ? "/tmp" : folder, (long)getpid());
}

static bool file_write_work(share *share)
{
    char path[4096];
    file_path(path, sizeof path);
    bool is_written = write_file(path, share->memory);
    (void)unlink(path);
    return is_written;
}

static bool file_read_work(share *share)
{
    // Written in the first call of a turn; the program removes it at its end.
    char path[4096];
    file_path(path, sizeof path);
    if (share->rounds == 0 && !write_file(path, share->memory))
        return false;
    return read_file(path, share->memory);
}

/* ---- Turns ---- */

static ceiling ceilings[] = {
    {.name = "fma", .unit = "GFLOP/s", .work = fma_work},
    {.name = "read_16k", .unit = "GB/s", .per_round = 1 << 22, .work = read_work, .bytes = 1 << 14},
    {.name = "read_512k", .unit = "GB/s", .per_round = 1 << 22, .work = read_work, .bytes = 1 << 19},
    {.name = "read_4m", .unit = "GB/s", .per_round = 1 << 22, .work = read_work, .bytes = 1 << 22},
    {.name = "read_256m", .unit = "GB/s", .per_round = 1 << 28, .work = read_work, .bytes = 1 << 28},
    {.name = "copy_256m", .unit = "GB/s", .per_round = 1 << 28, .work = copy_work, .bytes = 1 << 28},
    {.name = "flat_plan",
     .unit = "ns",
     .per_round = plan_ops,
     .work = plan_work,
     .bytes = plan_ops * sizeof(null_op),
     .is_single = true,
     .is_time = true},
    {.name = "file_write",
     .unit = "GB/s",
     .per_round = file_bytes,
     .work = file_write_work,
     .bytes = file_bytes,
     .is_single = true},
    {.name = "file_read",
     .unit = "GB/s",
     .per_round = file_bytes,
     .work = file_read_work,
     .bytes = file_bytes,
     .is_single = true},
};
enum { num_ceilings = sizeof ceilings / sizeof *ceilings };

static void *work_for_a_turn(void *argument)
{
    share *share = argument;
    bool (*work)(struct share *) = share->ceiling->work;
    share->has_failed = !work(share); // touches memory, wakes the clock
    share->rounds = 1;
    pthread_barrier_wait(share->start);
    double begin = seconds_of(CLOCK_MONOTONIC), busy = seconds_of(CLOCK_THREAD_CPUTIME_ID);
    int64_t rounds = 0;
    do {
        share->has_failed = share->has_failed || !work(share);
        rounds++;
        share->taken = seconds_of(CLOCK_MONOTONIC) - begin;
    } while (share->taken < share->seconds && !share->has_failed);
    share->busy = seconds_of(CLOCK_THREAD_CPUTIME_ID) - busy;
    share->rounds = rounds;
    return NULL;
}

/* All threads at once, each for so many seconds. False when memory, threads or the work failed. */
static bool take_turn(const ceiling *ceiling, int threads, double seconds, share *shares)
{
    pthread_t handles[most_threads];
    pthread_barrier_t start;
    bool is_good = true;
    for (int i = 0; i < threads; i++) {
        shares[i] = (share){.ceiling = ceiling, .seconds = seconds, .start = &start};
        size_t bytes = (ceiling->bytes + 4095) / 4096 * 4096;
        shares[i].memory = bytes == 0 ? NULL : aligned_alloc(4096, bytes);
        is_good = is_good && (bytes == 0 || shares[i].memory != NULL);
        if (shares[i].memory != NULL)
            memset(shares[i].memory, 0, bytes);
    }
    if (is_good && pthread_barrier_init(&start, NULL, (unsigned)threads) == 0) {
        // A thread that cannot be made would leave the others waiting: there is nothing to measure then.
        for (int i = 1; i < threads; i++)
            if (pthread_create(&handles[i], NULL, work_for_a_turn, &shares[i]) != 0)
                _exit(1);
        work_for_a_turn(&shares[0]);
        for (int i = 1; i < threads; i++)
            pthread_join(handles[i], NULL);
        pthread_barrier_destroy(&start);
    }
    for (int i = 0; i < threads; i++) {
        is_good = is_good && !shares[i].has_failed;
        free(shares[i].memory);
    }
    return is_good;
}

static void answer(const ceiling *ceiling, int threads, double seconds)
{
    share shares[most_threads] = {{.ceiling = ceiling}};
    int used = ceiling->is_single ? 1 : threads;
    if (!take_turn(ceiling, used, seconds, shares)) {
        printf("{\"bench\": \"%s\", \"error\": \"%s\"}\n", ceiling->name, strerror(errno));
        return;
    }
    double rate = 0;
    for (int i = 0; i < used; i++)
        rate += ceiling->per_round * (double)shares[i].rounds / shares[i].taken;
    double rounds = (double)shares[0].rounds;
    printf("{\"bench\": \"%s\", \"us\": %.9g, \"n\": %lld, \"value\": %.6g, \"unit\": \"%s\", \"cpu_us\": %.9g}\n",
           ceiling->name, shares[0].taken * 1e6 / rounds, (long long)shares[0].rounds,
           ceiling->is_time ? 1e9 / rate : rate / 1e9, ceiling->unit, shares[0].busy * 1e6 / rounds);
}

static const ceiling *find(const char *name)
{
    for (int i = 0; i < num_ceilings; i++)
        if (strcmp(ceilings[i].name, name) == 0)
            return &ceilings[i];
    return NULL;
}

int main(int argc, char **argv)
{
    char line[512], name[256], path[4096];
    double seconds = 0;
    int threads = argc == 3 && strcmp(argv[1], "--threads") == 0 ? atoi(argv[2]) : argc == 1 ? 1 : 0;
    if (threads < 1 || threads > most_threads) {
        fprintf(stderr, "usage: ceilings [--threads 1..%d]\n", most_threads);
        return 2;
    }
    ceilings[0].per_round = fma_flops();
    printf("{\"ready\": [");
    for (int i = 0; i < num_ceilings; i++)
        printf("%s\"%s\"", i == 0 ? "" : ", ", ceilings[i].name);
    printf("]}\n");
    fflush(stdout);
    while (fgets(line, sizeof line, stdin) != NULL) {
        if (sscanf(line, "%255s %lf", name, &seconds) != 2 || !(seconds > 0 && seconds < 3600))
            printf("{\"bench\": \"\", \"error\": \"a line is '<bench> <seconds>'\"}\n");
        else if (find(name) == NULL)
            printf("{\"bench\": \"%s\", \"error\": \"no bench of this name\"}\n", name);
        else
            answer(find(name), threads, seconds);
        fflush(stdout);
    }
    file_path(path, sizeof path);
    (void)unlink(path);
    return 0;
}
