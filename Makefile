# SPDX-License-Identifier: Apache-2.0
# The face of the project: each target installs what it needs, builds what changed, and runs.
SHELL := /bin/bash
.SHELLFLAGS := -eu -o pipefail -c
.DEFAULT_GOAL := help
# Torch headers cost over 1 GB per compiler process.
JOBS ?= $(shell nproc)
# Ours alone: a warning of a compiler we have not met must not stop someone who only wants to use this.
WERROR ?= OFF
FIB := build/fib
SOURCES = $(shell git ls-files '*.cpp' '*.h' '*.c')

.PHONY: help
help: ## Show this help
	@echo "Fibottention: sparse attention that is really sparse"
	@echo
	@awk -F ':.*## ' '/^[a-z-]+:.*## /{printf "  make %-16s %s\n", $$1, $$2}' $(MAKEFILE_LIST)
	@echo
	@echo "  SKIP_DEPS=1 skips the installation of Debian packages, JOBS=N bounds the build, WERROR=ON makes warnings errors."

.PHONY: deps
deps:
	@scripts/install-deps.sh core robots torch test

.PHONY: build
build: deps ## Build everything into build/
	cmake --preset release -DFIB_BUILD_TESTS=ON -DFIB_WERROR=$(WERROR)
	cmake --build --preset release -j $(JOBS)

# What the demo needs and no more: the tests are half of the build. A tree that was configured for them keeps them.
.PHONY: deps-demo
deps-demo:
	@scripts/install-deps.sh core torch

.PHONY: build-demo
build-demo: deps-demo
	@[[ -e build/build.ninja ]] || cmake --preset release -DFIB_BUILD_TESTS=OFF -DFIB_WERROR=$(WERROR)
	cmake --build --preset release -j $(JOBS) --target fib fib-torch

.PHONY: demo
demo: build-demo ## The main job, on real data: pattern, kernels, two trainings, a page about both
	@scripts/demo.sh

.PHONY: test
test: build test-asan ## Build and run all tests, sanitizers included
	ctest --preset release -j $(JOBS)

.PHONY: test-asan
test-asan: deps ## The torch-free tests under address and undefined-behaviour sanitizers (whose code GCC warns of falsely)
	cmake --preset asan
	cmake --build --preset asan -j $(JOBS)
	ctest --preset asan -j $(JOBS)

.PHONY: test-asan-torch
test-asan-torch: deps ## The tests with torch under the address sanitizer, see docs/security.md (not part of CI)
	cmake --preset asan-torch
	cmake --build --preset asan-torch -j $(JOBS)
	ctest --preset asan-torch

.PHONY: test-tsan
test-tsan: deps ## The torch-free tests under the thread sanitizer (clang)
	@scripts/install-deps.sh sanitize
	cmake --preset tsan -DFIB_WERROR=$(WERROR)
	cmake --build --preset tsan -j $(JOBS)
	ctest --preset tsan -j $(JOBS)

.PHONY: test-arm64
test-arm64: ## Kernels and engine built for arm64, their tests under qemu (not part of CI)
	@scripts/install-deps.sh core arm64
	@JOBS=$(JOBS) scripts/test-arm64.sh

.PHONY: fuzz
fuzz: deps ## Fuzz all that reads untrusted input, and kernels beside the oracle: ten minutes (FUZZ_SECONDS=N)
	@scripts/install-deps.sh sanitize
	cmake --preset fuzz -DFIB_WERROR=$(WERROR)
	cmake --build --preset fuzz -j $(JOBS)
	cmake --preset release -DFIB_BUILD_TESTS=ON -DFIB_WERROR=$(WERROR)
	cmake --build --preset release -j $(JOBS) --target fuzz_differential
	build/fuzz_differential --seconds $$(( $${FUZZ_SECONDS:-600} / 4 )) --seed $$(date +%s)
	FUZZ_SECONDS=$$(( $${FUZZ_SECONDS:-600} * 3 / 4 )) ctest --preset fuzz

.PHONY: test-faults
test-faults: build ## Refuse every write, sync, rename, buffer and thread of seven commands in turn (half an hour)
	FIB_FAULTS=all build/test_cli --gtest_filter='Faults*'

.PHONY: package
package: build ## A Debian package of the program, the library, its headers and the Python module, and its SBOM
	@scripts/install-deps.sh package
	@scripts/package.sh

# The library alone: no torch is needed to build it.
.PHONY: wheel
wheel: ## A wheel for Python that serves every torch from 1.13 on, in dist/; says how to install it
	@scripts/install-deps.sh core
	@if [[ -e build/build.ninja ]]; then \
	  cmake --build build -j $(JOBS) --target fibottention_c && python3 python/build_backend.py dist --library build/libfibottention_c.so; \
	else python3 python/build_backend.py dist; fi

.PHONY: bench
bench: build ## Our kernel beside dense attention and memcpy, one run
	$(FIB) bench attention --tokens 196 --batch 8 --backward
	$(FIB) bench attention --tokens 784,4096 --backward

.PHONY: results
results: deps ## Write the tables and drawings of the documents anew, from docs/results/*.json
	@[[ -e build/build.ninja ]] || cmake --preset release -DFIB_BUILD_TESTS=OFF
	cmake --build build --target draw-results
	scripts/results-tables.py --draw build/draw-results

.PHONY: explorer
explorer: ## Build docs/explorer/index.html: the patterns in a browser, from the same code
	@scripts/install-deps.sh explorer
	@scripts/build-explorer.sh

.PHONY: test-explorer
test-explorer: ## Try that page in Chromium, where there is one (needs build/fib)
	@scripts/test-explorer.sh

.PHONY: format
format: ## Rewrite all C++ with clang-format
	@scripts/install-deps.sh lint
	clang-format-14 -i $(SOURCES)

.PHONY: check-format
check-format: ## Check the format of all C++
	@scripts/install-deps.sh lint
	clang-format-14 --dry-run --Werror $(SOURCES)

.PHONY: lint
lint: ## Check format, layers and documentation, and run clang-tidy
	@scripts/install-deps.sh lint core robots torch
	@scripts/lint.sh

.PHONY: lint-quick
lint-quick: ## The same without clang-tidy
	@scripts/install-deps.sh lint core robots torch
	@scripts/lint.sh --quick

.PHONY: clean
clean: ## Remove the build folders
	rm -rf build build-python dist build-lint build-asan build-asan-torch build-debug build-tsan build-fuzz build-arm64
