# How Roost is built to run and test in this checkout, for the scripts that source this: `local_build` holds the arguments
# of `swift build`, `local_test` those of `swift test`, and `local_binaries` is the folder of what was built.
#
# One optimized build serves `make run`, `make test`, lint and attacks: each compiles only what the others have not. All
# must pass these arguments alone, since other flags compile everything again. Tests see internals by `package` access:
# `@testable import` does not compile, as it needs a build with -enable-testing. What ships is another build, with Swift's
# library inside (release_build.sh).
#
# With ROOST_TEST_CONFIGURATION=debug everything is built as `swift build` does, which is sooner done after a change; with
# `thread` and `address` as debug builds with ThreadSanitizer and AddressSanitizer (scripts/sanitize.sh).
case "${ROOST_TEST_CONFIGURATION:-release}" in
release)
    # Not with -no-emit-module-separately-wmo: modules whose interface is unchanged would keep their date, and what uses
    # types of the modules below them would not be compiled again.
    local_build=(--configuration release -debug-info-format none)
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
