/*
 * weir data mnist: makes sure that the digits are there, and prints their folder on stdout. What is on the machine is used;
 * else they are downloaded; else the clothing images that Debian packages in the same form stand in, with a word about it.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <weir/flags.h>

#include "command.h"
#include "download.h"

#define PATH_SIZE 4096
#define DEBIAN_FOLDER "/usr/share/datasets/fashion-mnist"

static const download files[] = {
    {"train-images-idx3-ubyte.gz", 9912422, "f68b3c2dcbeaaa9fbdd348bbdeb94873"},
    {"train-labels-idx1-ubyte.gz", 28881, "d53e105ee54ea40749a09fcbcd1e9432"},
    {"t10k-images-idx3-ubyte.gz", 1648877, "9fb629c4189551a2d022fa330f9573f3"},
    {"t10k-labels-idx1-ubyte.gz", 4542, "ec29112dd5afa0611ce80d1b7f02629c"},
};
#define NUM_FILES ((int)(sizeof files / sizeof files[0]))

static const char *const public_mirrors[] = {
    "https://ossci-datasets.s3.amazonaws.com/mnist/",
    "https://storage.googleapis.com/cvdf-datasets/mnist/",
    "http://yann.lecun.com/exdb/mnist/",
};

static struct {
    const char *folder;
    const char *mirror;
    bool download;
} flags = {.download = true};

/* All four files, whatever is in them: readers check. */
static bool has_files(const char *folder)
{
    for (int i = 0; i < NUM_FILES; i++) {
        char path[PATH_SIZE];
        snprintf(path, sizeof path, "%s/%s", folder, files[i].name);
        if (access(path, R_OK) != 0)
            return false;
    }
    return true;
}

static void default_folder(char folder[PATH_SIZE])
{
    const char *cache = getenv("XDG_CACHE_HOME");
    const char *home = getenv("HOME");
    if (cache != NULL && cache[0] == '/')
        snprintf(folder, PATH_SIZE, "%s/weir/mnist", cache);
    else
        snprintf(folder, PATH_SIZE, "%s/.cache/weir/mnist", home != NULL ? home : "/tmp");
}

static weir_status make_folder(const char *folder)
{
    char path[PATH_SIZE];
    snprintf(path, sizeof path, "%s", folder);
    for (char *at = path + 1; *at != '\0'; at++) {
        if (*at != '/')
            continue;
        *at = '\0';
        (void)mkdir(path, 0777);
        *at = '/';
    }
    if (mkdir(path, 0777) != 0 && errno != EEXIST)
        return weir_fail(WEIR_PERMISSION_DENIED, "%s; %s: the folder cannot be made", path, strerror(errno));
    return WEIR_STATUS_OK;
}

/* --mirror URL[,URL...] instead of the public ones. */
static int split_mirrors(char *text, const char *mirrors[16])
{
    int count = 0;
    char *rest = NULL;
    for (char *word = strtok_r(text, ",", &rest); word != NULL && count < 16; word = strtok_r(NULL, ",", &rest))
        mirrors[count++] = word;
    return count;
}

static weir_status download_all(const char *folder)
{
    const char *mirrors[16] = {public_mirrors[0], public_mirrors[1], public_mirrors[2]};
    int num_mirrors = 3;
    char given[PATH_SIZE];
    if (flags.mirror != NULL) {
        snprintf(given, sizeof given, "%s", flags.mirror);
        num_mirrors = split_mirrors(given, mirrors);
    }
    WEIR_TRY(make_folder(folder));
    for (int i = 0; i < NUM_FILES; i++) {
        if (!download_is_there(folder, &files[i]))
            WEIR_TRY(download_get(folder, &files[i], mirrors, num_mirrors));
    }
    return WEIR_STATUS_OK;
}

static bool find_on_machine(const char *folder)
{
    const char *places[] = {getenv("WEIR_DATA_DIR"), "../shared/data/mnist", folder};
    if (flags.folder != NULL) /* asked for by name: nothing else will do */
        places[0] = places[1] = NULL;
    for (size_t i = 0; i < sizeof places / sizeof places[0]; i++) {
        if (places[i] != NULL && places[i][0] != '\0' && has_files(places[i])) {
            printf("%s\n", places[i]);
            return true;
        }
    }
    return false;
}

static weir_status get_mnist(void)
{
    char standard[PATH_SIZE];
    default_folder(standard);
    const char *folder = flags.folder != NULL ? flags.folder : standard;
    if (flags.mirror == NULL && find_on_machine(folder))
        return WEIR_STATUS_OK;
    weir_status status =
        flags.download ? download_all(folder) : weir_fail(WEIR_NOT_FOUND, "The digits are not on this machine");
    if (weir_ok(status)) {
        printf("%s\n", folder);
        return status;
    }
    if (flags.mirror != NULL || !has_files(DEBIAN_FOLDER))
        return status;
    fprintf(stderr, "%s\n%s\n", weir_status_text(status),
            "Using the clothing images of Debian's dataset-fashion-mnist instead: same form, harder to tell apart "
            "(expect about 10 points less accuracy)");
    printf("%s\n", DEBIAN_FOLDER);
    return WEIR_STATUS_OK;
}

weir_status command_data(int argc, char **argv)
{
    static const weir_flag table[] = {
        WEIR_FLAG_HEADING(
            "weir data mnist: makes sure the handwritten digits are on this machine; prints their folder."),
        WEIR_FLAG_STRING("folder", &flags.folder, "where they are put (default: weir/mnist in the user's cache)"),
        WEIR_FLAG_STRING("mirror", &flags.mirror, "URL of the folder to download from; several: with commas"),
        WEIR_FLAG_BOOLEAN("download", &flags.download, "download what is missing"),
        WEIR_FLAGS_END,
    };
    bool help_asked = false;
    WEIR_TRY(weir_flags_parse(table, &argc, argv, stdout, &help_asked));
    if (help_asked)
        return WEIR_STATUS_OK;
    if (argc > 2)
        return weir_fail(WEIR_INVALID_ARGUMENT, "'%s' is one word too many", argv[2]);
    if (argc != 2 || strcmp(argv[1], "mnist") != 0)
        return weir_fail(WEIR_INVALID_ARGUMENT, "%s%s%s: 'weir data mnist' is what there is",
                         argc > 1 ? "'" : "no data set is named", argc > 1 ? argv[1] : "",
                         argc > 1 ? "' is no data set" : "");
    return get_mnist();
}
