#!/usr/bin/env bash
# What `make install` puts down can be used where it was put: by pkg-config and CMake, shared and static, and after a move.
set -u
cd "$WEIR_SOURCE_DIR" || exit 1
[ -z "${WEIR_SANITIZE:-}" ] || { echo "1..0 # SKIP a library under sanitizers is not installed"; exit 0; }

cases=0 failed=0
check() {
    local name=$1 output
    shift
    cases=$((cases + 1))
    if output=$("$@" 2>&1); then
        echo "ok $cases - $name"
    else
        echo "not ok $cases - $name"
        sed 's/^/# /' <<< "$output"
        failed=1
    fi
}

stage=$TMPDIR/stage
root=$TMPDIR/moved
version=$(awk '/^#define WEIR_VERSION_(MAJOR|MINOR|PATCH) /{printf "%s%s", dot, $3; dot = "."}' include/weir/version.h)
check "install into DESTDIR" env DESTDIR="$stage" cmake --install "$WEIR_BUILD_DIR" --prefix /opt/weir
mv "$stage/opt/weir" "$root"

cat > "$TMPDIR/use.c" << 'END'
#include <stdio.h>
#include <weir/version.h>
int main(void)
{
    return puts(weir_version()) < 0;
}
END
pc_dir=$(dirname "$(find "$root" -name weir.pc)")
lib_dir=$(dirname "$pc_dir")
export PKG_CONFIG_PATH=$pc_dir LD_LIBRARY_PATH=$lib_dir

check "SONAME" sh -c "readelf -d '$lib_dir/libweir.so' | grep -qF 'libweir.so.${version%%.*}]'"
check "pkg-config knows the version" test "$(pkg-config --modversion weir)" = "$version"
check "shared library by pkg-config" sh -c "cc '$TMPDIR/use.c' -o '$TMPDIR/shared' \$(pkg-config --cflags --libs weir)"
check "a program with it runs" test "$("$TMPDIR/shared")" = "$version"
check "static library by pkg-config" sh -c "cc '$TMPDIR/use.c' -o '$TMPDIR/static' \$(pkg-config --cflags weir) '$lib_dir/libweir.a' \
    \$(pkg-config --static --libs-only-l weir | sed 's/-lweir //') -pthread"
check "a program with it runs" test "$(LD_LIBRARY_PATH='' "$TMPDIR/static")" = "$version"
if [ -x "$root/bin/weir" ]; then
    check "the installed command runs" env -u LD_LIBRARY_PATH "$root/bin/weir" version
fi

mkdir "$TMPDIR/project"
cp "$TMPDIR/use.c" "$TMPDIR/project"
cat > "$TMPDIR/project/CMakeLists.txt" << 'END'
cmake_minimum_required(VERSION 3.25)
project(use C)
find_package(weir 0.1 REQUIRED)
add_executable(shared use.c)
target_link_libraries(shared PRIVATE weir::weir)
add_executable(static use.c)
target_link_libraries(static PRIVATE weir::weir_static)
END
check "CMake finds the package" cmake -S "$TMPDIR/project" -B "$TMPDIR/project/build" -DCMAKE_PREFIX_PATH="$root"
check "and builds with both libraries" cmake --build "$TMPDIR/project/build"
for kind in shared static; do
    check "the $kind program runs" test "$("$TMPDIR/project/build/$kind")" = "$version"
done
echo "1..$cases"
exit $failed
