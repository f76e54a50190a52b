/*
 * main() of a fuzz target that is built without libFuzzer: calls it with each file that is named, and with what a short
 * deterministic run makes of them.
 *
 *   fuzz_graph [-rounds=N] FILE ...
 */
#include <string.h>

#include "fuzz/fuzz.h"
#include "fuzz/mutate.h"

static int run_file(const char *path, int rounds)
{
    FILE *file = fopen(path, "rb");
    if (file == NULL) {
        perror(path);
        return 1;
    }
    size_t room = (size_t)64 << 20;
    uint8_t *data = malloc(room);
    size_t size = data == NULL ? 0 : fread(data, 1, room, file);
    fclose(file);
    fuzz_mutate(LLVMFuzzerTestOneInput, data, size, rounds);
    free(data);
    return 0;
}

int main(int argc, char **argv)
{
    int rounds = 1000;
    int failures = 0;
    for (int i = 1; i < argc; i++) {
        if (strncmp(argv[i], "-rounds=", 8) == 0)
            rounds = atoi(argv[i] + 8);
        else
            failures += run_file(argv[i], rounds);
    }
    return failures > 0;
}
