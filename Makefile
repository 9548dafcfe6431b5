# SPDX-License-Identifier: Apache-2.0
# The face of the project: each target installs what it needs, builds what changed, and runs.
SHELL := /bin/bash
.SHELLFLAGS := -eu -o pipefail -c
.DEFAULT_GOAL := help
# Torch headers cost over 1 GB per compiler process.
JOBS ?= $(shell nproc)
FIB := build/fib
SOURCES = $(shell git ls-files '*.cpp' '*.h' '*.c')

.PHONY: help
help: ## Show this help
	@echo "Fibottention: sparse attention that is really sparse"
	@echo
	@awk -F ':.*## ' '/^[a-z-]+:.*## /{printf "  make %-10s %s\n", $$1, $$2}' $(MAKEFILE_LIST)
	@echo
	@echo "  SKIP_DEPS=1 skips the installation of Debian packages, JOBS=N bounds the build."

.PHONY: deps
deps:
	@scripts/install-deps.sh core torch test

build/build.ninja: CMakeLists.txt CMakePresets.json
	cmake --preset release

.PHONY: build
build: deps build/build.ninja ## Build everything into build/
	cmake --build --preset release -j $(JOBS)

.PHONY: demo
demo: build ## The main job, on real data
	@scripts/demo.sh

.PHONY: test
test: build test-asan ## Build and run all tests, sanitizers included
	ctest --preset release -j $(JOBS)

.PHONY: test-asan
test-asan: deps ## The torch-free tests under address and undefined-behaviour sanitizers
	cmake --preset asan
	cmake --build --preset asan -j $(JOBS)
	ctest --preset asan -j $(JOBS)

.PHONY: test-tsan
test-tsan: deps ## The torch-free tests under the thread sanitizer (clang)
	@scripts/install-deps.sh sanitize
	cmake --preset tsan
	cmake --build --preset tsan -j $(JOBS)
	ctest --preset tsan -j $(JOBS)

.PHONY: fuzz
fuzz: deps ## Fuzz the readers of .npy, safetensors and pictures, a bounded time each
	@scripts/install-deps.sh sanitize
	cmake --preset fuzz
	cmake --build --preset fuzz -j $(JOBS)
	ctest --preset fuzz

.PHONY: bench
bench: build ## Our kernel beside dense attention and memcpy, one run
	$(FIB) bench attention --tokens 196 --batch 8 --backward
	$(FIB) bench attention --tokens 784,4096 --backward

.PHONY: format
format: ## Rewrite all C++ with clang-format
	@scripts/install-deps.sh lint
	clang-format-14 -i $(SOURCES)

.PHONY: check-format
check-format: ## Check the format of all C++
	@scripts/install-deps.sh lint
	clang-format-14 --dry-run --Werror $(SOURCES)

.PHONY: lint
lint: ## Check format and run clang-tidy
	@scripts/install-deps.sh lint core
	@scripts/lint.sh

.PHONY: clean
clean: ## Remove the build folders
	rm -rf build build-lint build-asan build-debug build-tsan build-fuzz
