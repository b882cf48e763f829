# `make run` serves the music apps and `make test` runs the tests. Both first install missing system packages.
.PHONY: help run test test-all documentation bench bench-profile bench-allocations lint fuzz sanitize build package clean

help:
	@echo "make run                build optimized and serve examples/music (ARGUMENTS=\"--port 1338\" adds options)"
	@echo "make test               run the tests on a separate PostgreSQL (ARGUMENTS=\"--filter JSONTests\" selects)"
	@echo "make test-all           also run the heavy tests: browsers, file stores, clusters"
	@echo "make bench              measure a release build against PostgreSQL (ARGUMENTS=\"--quick\" takes less time)"
	@echo "make bench-profile      show where processor time goes under gets and finds"
	@echo "make bench-allocations  count allocations, and fail if they exceed Benchmarks/allocations.json"
	@echo "make lint               check the format and the compiler's warnings"
	@echo "make fuzz               fuzz the readers of outside input (FUZZ_SECONDS=600 for each, ARGUMENTS=\"json\" selects)"
	@echo "make sanitize           run the tests under ThreadSanitizer and AddressSanitizer (ARGUMENTS=\"thread\" selects)"
	@echo "make documentation      build the documentation of the library Roost, and fail on warnings"
	@echo "make build              build the release binary in .build/product"
	@echo "make package            build a Debian package and an archive in .build/packages"
	@echo "make clean              remove all builds, but no data"

run:
	@exec scripts/run.sh $(ARGUMENTS)

test:
	@scripts/test.sh $(ARGUMENTS)

test-all: test
	@scripts/test.sh --heavy

bench:
	@scripts/bench.sh $(ARGUMENTS)

bench-profile:
	@scripts/bench.sh --profile $(ARGUMENTS)

bench-allocations:
	@scripts/bench.sh --allocations $(ARGUMENTS)

lint:
	@scripts/lint.sh

fuzz:
	@scripts/fuzz.sh $(ARGUMENTS)

sanitize:
	@scripts/sanitize.sh $(ARGUMENTS)

documentation:
	@scripts/documentation.sh

build:
	@scripts/build.sh

package:
	@scripts/package.sh $(ARGUMENTS)

clean:
	swift package clean
	rm -rf .build/product .build/reference .build/thread .build/address
