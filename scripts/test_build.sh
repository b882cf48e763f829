# How tests are built, for the scripts that source this: `test_build` holds the arguments of `swift build` and `swift test`,
# `test_binaries` is the folder of what was built.
#
# Optimized, as what is served is: the tests see the code that ships, and take half of the time. In a folder of its own,
# since code that tests may look into (-enable-testing) is another build than that of `make run`. With
# ROOST_TEST_CONFIGURATION=debug they are built as `swift build` does, which is sooner done after a change; with `thread` and
# `address` as debug builds with ThreadSanitizer and AddressSanitizer (scripts/sanitize.sh).
case "${ROOST_TEST_CONFIGURATION:-release}" in
release)
    test_build=(--configuration release --scratch-path .build/tests -Xswiftc -enable-testing -debug-info-format none)
    test_binaries=.build/tests/release
    ;;
debug)
    test_build=(--configuration debug)
    test_binaries=.build/debug
    ;;
thread | address)
    test_build=(
        --configuration debug --scratch-path ".build/$ROOST_TEST_CONFIGURATION" --sanitize "$ROOST_TEST_CONFIGURATION"
        -Xswiftc -use-ld=lld
    )
    test_binaries=.build/$ROOST_TEST_CONFIGURATION/debug
    ;;
*)
    echo "ROOST_TEST_CONFIGURATION is release, debug, thread or address" >&2
    exit 2
    ;;
esac
