# How Roost is built to serve, for the scripts that source this: `release_build` holds the arguments of `swift build`.
#
# On Linux with Swift's library inside, as in the image of the Dockerfile: what runs calls it without a detour, and needs no
# toolchain beside it. Where a toolchain has no such library, and on macOS, which has it in the system, it is linked to.
release_build=(--configuration release)
if [ "$(uname -s)" = Linux ]; then
    swift_library=$(swiftc -print-target-info | sed -n 's/.*"runtimeResourcePath": *"\(.*\)".*/\1/p')
    if [ -f "${swift_library}_static/linux/libswiftCore.a" ]; then release_build+=(--static-swift-stdlib); fi
fi
