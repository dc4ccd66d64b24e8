# rlzero: make demo trains the built-in example, make test passes the tests.
# Both bring what they need on Debian and Ubuntu.

VERSION ?= $(shell git describe --tags --always --dirty 2>/dev/null || echo dev)
LDFLAGS := -s -w -X github.com/rlzero/rlzero/rl/cli.Version=$(VERSION)
PLATFORMS := linux/amd64 linux/arm64 darwin/amd64 darwin/arm64 windows/amd64 windows/arm64

.PHONY: demo build test test-short check cross generate bench clean

demo: build
	@.ci/driver
	./rlzero train countdown-blind

build:
	CGO_ENABLED=0 go build -trimpath -ldflags '$(LDFLAGS)' -o rlzero .

# Every package on every device found; lavapipe must be among them.
test: build
	@.ci/driver lavapipe
	RLZERO_WANT_DEVICE=lavapipe go test -timeout 30m ./...

# What needs no device and no fixtures: a few seconds.
test-short:
	go test -short ./rl/algo/ ./rl/recipe/ ./rl/store/ ./rl/metrics/ ./verify/ ./rl/tasks/

# Formatting, vet, committed shaders, and builds for every platform.
check: cross
	@test -z "$$(gofmt -l .)" || { gofmt -l .; echo "run gofmt -w on these"; exit 1; }
	go vet ./...
	@if command -v naga >/dev/null; then cd shaders && go run ./internal/generate -check; else echo "naga is not installed: shaders not regenerated"; fi

cross:
	@for p in $(PLATFORMS); do \
		echo "build $$p"; \
		CGO_ENABLED=0 GOOS=$${p%/*} GOARCH=$${p#*/} go build -o /dev/null . || exit 1; \
	done
	@if command -v gcc >/dev/null; then echo "build with cgo"; CGO_ENABLED=1 go build -o /dev/null .; fi

# Shaders from their WGSL templates; needs naga-cli 30 (cargo install naga-cli --version 30.0.1).
generate:
	go generate ./shaders

bench: build
	./rlzero bench all

clean:
	rm -rf rlzero dist
