/*
 * How many cores this process may use: affinity of the calling thread, and the cgroup quota of a container.
 */
#include <errno.h>
#include <sched.h>
#include <stdio.h>
#include <string.h>

#include "base/team.h"

#define PATH_SIZE 4096

static int affinity_cores(void)
{
    for (int limit = CPU_SETSIZE; limit <= 1 << 20; limit *= 4) { /* the kernel refuses sets smaller than its own */
        cpu_set_t *set = CPU_ALLOC(limit);
        if (set == NULL)
            return 1;
        size_t size = CPU_ALLOC_SIZE(limit);
        bool is_known = sched_getaffinity(0, size, set) == 0;
        bool is_small = !is_known && errno == EINVAL;
        int count = is_known ? CPU_COUNT_S(size, set) : 1;
        CPU_FREE(set);
        if (!is_small)
            return count;
    }
    return 1;
}

/* Reads a short file; false when it is not there. */
static bool read_line(const char *folder, const char *name, char *line, size_t size)
{
    char path[PATH_SIZE];
    if (snprintf(path, sizeof path, "%s/%s", folder, name) >= (int)sizeof path)
        return false;
    FILE *file = fopen(path, "re");
    if (file == NULL)
        return false;
    bool is_read = fgets(line, (int)size, file) != NULL;
    fclose(file);
    return is_read;
}

/* Quota over period, rounded up; 0 when there is no limit. */
static int whole_cores(long long quota, long long period)
{
    if (quota <= 0 || period <= 0)
        return 0;
    long long cores = quota / period + (quota % period != 0);
    return cores > 1 << 20 ? 0 : (int)cores;
}

/* The limit of one cgroup, of version 2 ("max 100000" or "150000 100000") or 1 (two files); 0: none. */
static int folder_cores(const char *folder)
{
    char line[128];
    long long quota = 0;
    long long period = 0;
    if (read_line(folder, "cpu.max", line, sizeof line))
        return sscanf(line, "%lld %lld", &quota, &period) == 2 ? whole_cores(quota, period) : 0;
    if (!read_line(folder, "cpu.cfs_quota_us", line, sizeof line) || sscanf(line, "%lld", &quota) != 1)
        return 0;
    if (!read_line(folder, "cpu.cfs_period_us", line, sizeof line) || sscanf(line, "%lld", &period) != 1)
        return 0;
    return whole_cores(quota, period);
}

static int lower_limit(int a, int b)
{
    if (a == 0 || b == 0)
        return a + b;
    return a < b ? a : b;
}

/* The lowest limit of the cgroup group under mount and of all above it. In a container the group may be named as the
 * host sees it and not exist here; then the mount's own root has the limit. */
static int chain_cores(const char *root, const char *mount, const char *group)
{
    char folder[PATH_SIZE];
    int mount_length = snprintf(folder, sizeof folder, "%s%s", root, mount);
    if (mount_length >= PATH_SIZE ||
        snprintf(folder + mount_length, sizeof folder - (size_t)mount_length, "%s", group) >= PATH_SIZE - mount_length)
        return 0;
    int cores = folder_cores(folder);
    for (char *slash; (slash = strrchr(folder + mount_length, '/')) != NULL;) {
        *slash = '\0';
        cores = lower_limit(cores, folder_cores(folder));
    }
    return cores;
}

static bool names_cpu(const char *controllers)
{
    for (const char *at = controllers; at != NULL; at = strchr(at, ',')) {
        at += *at == ',';
        if (strncmp(at, "cpu", 3) == 0 && (at[3] == ',' || at[3] == '\0'))
            return true;
    }
    return false;
}

int weir_cores_quota(const char *root)
{
    char line[PATH_SIZE];
    if (snprintf(line, sizeof line, "%s/proc/self/cgroup", root) >= (int)sizeof line)
        return 0;
    FILE *file = fopen(line, "re");
    if (file == NULL)
        return 0;
    int cores = 0;
    while (fgets(line, sizeof line, file) != NULL) { /* "4:cpu,cpuacct:/group", or "0::/group" of version 2 */
        line[strcspn(line, "\n")] = '\0';
        char *controllers = strchr(line, ':');
        char *group = controllers != NULL ? strchr(controllers + 1, ':') : NULL;
        if (group == NULL)
            continue;
        *group++ = '\0';
        controllers++;
        if (names_cpu(controllers)) {
            cores = lower_limit(cores, chain_cores(root, "/sys/fs/cgroup/cpu", group));
            cores = lower_limit(cores, chain_cores(root, "/sys/fs/cgroup/cpu,cpuacct", group));
        } else if (*controllers == '\0') {
            cores = lower_limit(cores, chain_cores(root, "/sys/fs/cgroup", group));
            cores = lower_limit(cores, chain_cores(root, "/sys/fs/cgroup/unified", group));
        }
    }
    fclose(file);
    return cores;
}

int weir_cores(void)
{
    int cores = lower_limit(affinity_cores(), weir_cores_quota(""));
    return cores > 0 ? cores : 1;
}
