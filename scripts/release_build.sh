# How the shipped product of Roost is built, for scripts that source this file. `release_build` contains the arguments
# of `swift build`, and `release_folder` is the build folder. It is separate from the build in local_build.sh, because
# SwiftPM can't link tests with Swift's library inside.
#
# On Linux, links Swift's library statically, as in the Dockerfile's image: calls into it need no indirection, and the
# binary runs without a toolchain. Links it dynamically if the toolchain has no static library, and on macOS, which
# includes the library.
# What ships is optimized whole, also if the script that sources this built locally before.
unset ROOST_LOCAL_BUILD
release_build=(--configuration release -debug-info-format none)
release_folder=.build/product
if [ "$(uname -s)" = Linux ]; then
    swift_library=$(swiftc -print-target-info | sed -n 's/.*"runtimeResourcePath": *"\(.*\)".*/\1/p')
    if [ -f "${swift_library}_static/linux/libswiftCore.a" ]; then release_build+=(--static-swift-stdlib); fi
    # Nothing looks up symbols of the server by name. Without the table of dynamic symbols it takes two megabytes less.
    release_build+=(-Xlinker --no-export-dynamic)
    # The relocations applied at load time take three megabytes, or 50 kilobytes if the system's library supports the
    # packed format (glibc 2.36).
    glibc=$(getconf GNU_LIBC_VERSION 2>/dev/null || true)
    if [[ "$glibc" =~ ^glibc\ 2\.([0-9]+) ]] && [ "${BASH_REMATCH[1]}" -ge 36 ]; then
        release_build+=(-Xswiftc -use-ld=lld -Xlinker -z -Xlinker pack-relative-relocs)
    fi
fi
