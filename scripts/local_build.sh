# How Roost is built to run and test in this checkout, for scripts that source this file. `local_build` contains the
# arguments of `swift build`, `local_test` those of `swift test`, and `local_binaries` is the folder with the binaries.
#
# `make run`, `make test`, lint and the attacks share one optimized build, so each compiles only what the others haven't
# compiled yet. They must all pass exactly these arguments, because other flags would recompile everything. Tests see
# internals by `package` access. `@testable import` doesn't compile, because it needs a build with -enable-testing. The
# shipped product is a separate build with Swift's library inside (release_build.sh).
#
# With ROOST_TEST_CONFIGURATION=debug, everything is built like with `swift build`, which is faster after a change. With
# `thread` or `address`, it is a debug build with ThreadSanitizer or AddressSanitizer (scripts/sanitize.sh).
case "${ROOST_TEST_CONFIGURATION:-release}" in
release)
    # Not with -no-emit-module-separately-wmo: modules with an unchanged interface would keep their date, and the
    # compiler would not recompile code that uses types of the modules below them.
    # C is compiled without optimization: nearly all of it is BoringSSL, whose ciphers and hashes are assembly.
    local_build=(--configuration release -debug-info-format none -Xcc -O0)
    # Package.swift then leaves most modules unoptimized.
    export ROOST_LOCAL_BUILD=1
    # `swift test` would otherwise plan a build with -enable-testing.
    local_test=("${local_build[@]}" --disable-testable-imports)
    local_binaries=.build/release
    ;;
debug)
    local_build=(--configuration debug)
    local_test=("${local_build[@]}")
    local_binaries=.build/debug
    ;;
thread | address)
    local_build=(
        --configuration debug --scratch-path ".build/$ROOST_TEST_CONFIGURATION" --sanitize "$ROOST_TEST_CONFIGURATION"
        -Xswiftc -use-ld=lld
    )
    local_test=("${local_build[@]}")
    local_binaries=.build/$ROOST_TEST_CONFIGURATION/debug
    ;;
*)
    echo "ROOST_TEST_CONFIGURATION is release, debug, thread or address" >&2
    exit 2
    ;;
esac
# Without an index, the tests compile in two thirds of the time. Tests/XCTMain.swift makes it unnecessary.
local_build+=(--disable-index-store)
local_test+=(--disable-index-store --enable-swift-testing --disable-xctest)
