# How Roost is built to ship, for the scripts that source this: `release_build` holds the arguments of `swift build`,
# `release_folder` is the folder to build in. It is another build than that of local_build.sh, since SwiftPM cannot link tests
# with Swift's library inside.
#
# On Linux with Swift's library inside, as in the image of the Dockerfile: what runs calls it without a detour, and needs no
# toolchain beside it. Where a toolchain has no such library, and on macOS, which has it in the system, it is linked to.
release_build=(--configuration release -debug-info-format none)
release_folder=.build/product
if [ "$(uname -s)" = Linux ]; then
    swift_library=$(swiftc -print-target-info | sed -n 's/.*"runtimeResourcePath": *"\(.*\)".*/\1/p')
    if [ -f "${swift_library}_static/linux/libswiftCore.a" ]; then release_build+=(--static-swift-stdlib); fi
    # Nobody looks into a server for symbols by their names: without that table it holds two megabytes less.
    release_build+=(-Xlinker --no-export-dynamic)
    # Addresses that are known when the program is loaded take three megabytes, or fifty kilobytes where the system's
    # library reads the short form (glibc 2.36).
    glibc=$(getconf GNU_LIBC_VERSION 2>/dev/null || true)
    if [[ "$glibc" =~ ^glibc\ 2\.([0-9]+) ]] && [ "${BASH_REMATCH[1]}" -ge 36 ]; then
        release_build+=(-Xswiftc -use-ld=lld -Xlinker -z -Xlinker pack-relative-relocs)
    fi
fi
