# Builds Roost with the Swift library inside, and runs it on a slim Debian without a toolchain.
#
#   docker build --build-arg ROOST_COMMIT="$(scripts/version.sh commit)" -t roost .
#   docker build --target packages --output .build/packages --build-arg ROOST_VERSION="$(scripts/version.sh package)" .
FROM swift:6.3-bookworm AS build
SHELL ["/bin/bash", "-euo", "pipefail", "-c"]
RUN apt-get update \
    && apt-get install -y --no-install-recommends libpq-dev libcurl4-openssl-dev libcrypt-dev zlib1g-dev pkg-config \
    && rm -rf /var/lib/apt/lists/*
WORKDIR /source
COPY Package.swift ./
COPY schema schema
COPY Sources Sources
# The console serves some of them.
COPY docs docs
# The tests and the example are not built, but the package names their folders.
COPY Tests Tests
COPY examples/cloud examples/cloud
# With the arguments of `make build`, and of the same versions of packages.
COPY scripts/release_build.sh scripts/packages.sh scripts/packages.txt scripts/
RUN source scripts/release_build.sh \
    && scripts/packages.sh \
    && swift build "${release_build[@]}" --force-resolved-versions --product roost \
    && install -D --strip "$(swift build "${release_build[@]}" --show-bin-path)/roost" /out/roost
COPY scripts/version.sh scripts/
ARG ROOST_COMMIT=""
RUN if [ -n "$ROOST_COMMIT" ]; then scripts/version.sh stamp /out/roost "$ROOST_COMMIT"; fi

# The packages, of the binary that the image has.
FROM build AS packaging
RUN apt-get update && apt-get install -y --no-install-recommends dpkg-dev binutils && rm -rf /var/lib/apt/lists/*
COPY CHANGELOG.md LICENSE ./
COPY examples/systemd examples/systemd
COPY packaging packaging
COPY scripts/package.sh scripts/
ARG ROOST_VERSION
ARG SOURCE_DATE_EPOCH
RUN scripts/package.sh --binary /out/roost --version "$ROOST_VERSION" --output /packages

FROM scratch AS packages
COPY --from=packaging /packages /

FROM debian:bookworm-slim AS image
RUN apt-get update \
    && apt-get install -y --no-install-recommends ca-certificates curl libcrypt1 libcurl4 libpq5 zlib1g \
    && rm -rf /var/lib/apt/lists/* \
    && useradd --system --uid 10001 --user-group --no-create-home --home-dir /nonexistent roost \
    && install -d -o roost -g roost -m 700 /data /data/files
COPY --from=build /out/roost /usr/local/bin/roost
# The image has no PostgreSQL of its own: PARSE_SERVER_DATABASE_URI must name one.
ENV PORT=1337 \
    PARSE_SERVER_HOST=0.0.0.0 \
    PARSE_SERVER_MOUNT_PATH=/parse \
    ROOST_DATA_DIR=/data \
    ROOST_FILES_DIRECTORY=/data/files
USER roost
WORKDIR /data
VOLUME /data/files
EXPOSE 1337
STOPSIGNAL SIGTERM
HEALTHCHECK --interval=10s --timeout=5s --start-period=20s --retries=3 \
    CMD curl --fail --silent --show-error "http://127.0.0.1:${PORT}${PARSE_SERVER_MOUNT_PATH}/health" || exit 1
ENTRYPOINT ["/usr/local/bin/roost", "serve"]
