/*
 * weir doctor: what this machine gives to training, and what is in the way.
 */
#include <inttypes.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <unistd.h>

#include <weir/flags.h>
#include <weir/session.h>
#include <weir/version.h>

#include "command.h"

static void print_limit(const char *what, int which, double unit, const char *unit_name)
{
    struct rlimit limit;
    if (getrlimit(which, &limit) != 0)
        return;
    if (limit.rlim_cur == RLIM_INFINITY)
        printf("  %-22s none\n", what);
    else
        printf("  %-22s %.0f%s\n", what, (double)limit.rlim_cur / unit, unit_name);
}

static void print_processor(void)
{
#if defined(__x86_64__)
    __builtin_cpu_init();
    bool v3 = __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma") && __builtin_cpu_supports("bmi2");
    bool v4 = v3 && __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
              __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512vl") &&
              __builtin_cpu_supports("avx512cd");
    printf("processor\n  %-22s %s\n", "kernels for",
           v4   ? "x86-64-v4 (AVX-512)"
           : v3 ? "x86-64-v3 (AVX2, FMA)"
                : "x86-64-v2");
#else
    printf("processor\n  %-22s %s\n", "kernels for", "any processor (plain C)");
#endif
}

static weir_status print_machine(void)
{
    weir_device_info device;
    int count = 0;
    WEIR_TRY(weir_list_devices(NULL, &device, 1, &count));
    printf("  %-22s %ld, of which this process may use %d\n", "cores", sysconf(_SC_NPROCESSORS_ONLN), device.threads);
    printf("memory\n  %-22s %.1f GiB\n", "physical",
           (double)sysconf(_SC_PHYS_PAGES) * (double)sysconf(_SC_PAGESIZE) / (1 << 30));
    printf("limits\n");
    print_limit("address space", RLIMIT_AS, 1 << 30, " GiB");
    print_limit("open files", RLIMIT_NOFILE, 1, "");
    print_limit("file size", RLIMIT_FSIZE, 1 << 20, " MiB");
    return WEIR_STATUS_OK;
}

static void print_libraries(void)
{
    weir_library_info libraries[16];
    int count = weir_list_libraries(libraries, 16);
    printf("libraries\n");
    for (int i = 0; i < count && i < 16; i++)
        printf("  %-22s %s%s%s\n", libraries[i].name, libraries[i].is_present ? "yes" : "no",
               libraries[i].note[0] != '\0' ? ": " : "", libraries[i].note);
}

static void print_environment(void)
{
    static const char *const names[] = {"WEIR_DATA_DIR", "WEIR_SIM_GPUS", "CUDA_VISIBLE_DEVICES",
                                        "TF_CPP_MIN_LOG_LEVEL"};
    printf("environment\n");
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
        const char *value = getenv(names[i]);
        printf("  %-22s %s\n", names[i], value != NULL ? value : "(not set)");
    }
}

weir_status command_doctor(int argc, char **argv)
{
    static const weir_flag table[] = {
        WEIR_FLAG_HEADING("Shows libraries, processor tiers and limits that training on this machine depends on."),
        WEIR_FLAGS_END};
    bool help_asked = false;
    WEIR_TRY(weir_flags_parse(table, &argc, argv, stdout, &help_asked));
    if (help_asked)
        return WEIR_STATUS_OK;
    if (argc > 1)
        return weir_fail(WEIR_INVALID_ARGUMENT, "'%s' is one word too many", argv[1]);
    printf("weir %s\n", weir_version());
    print_processor();
    WEIR_TRY(print_machine());
    print_libraries();
    print_environment();
    return WEIR_STATUS_OK;
}
