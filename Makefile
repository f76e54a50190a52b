# The daily commands. CMake does the building (CMakeLists.txt); scripts/ holds what needs more than a line.
#
#   make [CC=clang] [BUILD=build] [JOBS=2]      ARGS="..." goes to `make run`, `make test`, `make bench`, `make sanitize`

BUILD  ?= build
PREFIX ?= /usr/local
ARGS   ?=

# Only a compiler that somebody chose is passed on; make's own default (cc) is CMake's default too.
ifneq ($(filter command line environment,$(origin CC)),)
export CC
else
unexport CC
endif
export BUILD JOBS

all:
	@scripts/build

setup:
	@scripts/setup

run:
	@scripts/run $(ARGS)

test:
	@scripts/setup --test --quiet
	@scripts/test $(ARGS)

bench:
	@scripts/setup --quiet
	@scripts/bench $(ARGS)

check:
	@scripts/setup --test --quiet
	@scripts/check $(ARGS)

sanitize:
	@scripts/setup --test --quiet
	@scripts/sanitize $(ARGS)

install: all
	cmake --install $(BUILD) --prefix "$(PREFIX)"
	@if [ -z "$(DESTDIR)" ] && [ "$$(id -u)" = 0 ] && command -v ldconfig > /dev/null; then ldconfig; fi

format:
	@scripts/format

clean:
	rm -rf build build-asan build-tsan build-clang

help:
	@echo "make            build the libraries, build/weir, build/examples/* and build/bench/*"
	@echo "make setup      install the packages that the build needs (Debian; elsewhere they are listed)"
	@echo "make run        train a convolutional network on handwritten digits (ARGS=\"--max_epoch=1\")"
	@echo "make test       run all tests (ARGS=\"--quick\", ARGS=\"--only PATTERN\")"
	@echo "make bench      measure against TensorFlow and PyTorch"
	@echo "make check      format, clang-tidy, cppcheck, include law, exported symbols, clang build"
	@echo "make sanitize   run the quick tests under address+undefined, then thread sanitizer"
	@echo "make install    install under PREFIX=$(PREFIX); honours DESTDIR"
	@echo "make format     format all C files in place"
	@echo "make clean      remove what was built"
	@echo
	@echo "Variables: CC, BUILD (folder), JOBS (parallel jobs), ARGS, PREFIX, DESTDIR, CMAKE_FLAGS"

.PHONY: all setup run test bench check sanitize install format clean help
