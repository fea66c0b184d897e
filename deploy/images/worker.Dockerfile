# gantry-worker: runs the commands of tasks from the work queue. Built from the root of the repository; docs/deploy.md says how.
# BASE: an image with Node 24, npm and glibc. What tasks call (git, make, a compiler) comes from an image made on top of this one.
ARG BASE=node:24-bookworm-slim

# The same lines begin both Dockerfiles, so that an engine builds them once. Everything comes from the lock file; no script of a package runs.
FROM ${BASE} AS build
WORKDIR /src
COPY package.json package-lock.json .npmrc ./
RUN npm ci --include=dev --include=optional --ignore-scripts --no-progress
COPY . .
RUN npm run build \
 && rm -rf node_modules/better-sqlite3/deps node_modules/better-sqlite3/src \
 && find node_modules/better-sqlite3/prebuilds -mindepth 1 -maxdepth 1 ! -name 'linux*' -exec rm -rf {} +

FROM ${BASE}
# Written by hand, because not every base has useradd. A program that asks for its user's name gets one.
RUN echo 'gantry:x:10001:10001::/var/lib/gantry:/usr/sbin/nologin' >> /etc/passwd \
 && echo 'gantry:x:10001:' >> /etc/group \
 && mkdir -p /var/lib/gantry \
 && chown 10001:10001 /var/lib/gantry \
 && chmod 0700 /var/lib/gantry \
 && ln -s /app/scripts/gantry.mjs /usr/local/bin/gantry
WORKDIR /app
COPY --from=build /src/package.json /src/out/THIRD-PARTY-NOTICES.txt /src/out/gantry.cdx.json ./
COPY --from=build /src/scripts/gantry.mjs /src/scripts/node-runtime.mjs scripts/
COPY --from=build /src/deploy/images/health.mjs deploy/images/
COPY --from=build /src/out/server/cli.js /src/out/server/worker-beats.js out/server/
COPY --from=build /src/out/server/chunks out/server/chunks
ENV NODE_ENV=production GANTRY_HOME=/var/lib/gantry
USER 10001:10001
VOLUME /var/lib/gantry
HEALTHCHECK --interval=10s --timeout=5s --start-period=30s --retries=3 CMD ["node", "/app/deploy/images/health.mjs", "worker"]
# The container is the wall: bubblewrap would need rights that a container does not have. The figures are what the health check asks.
CMD ["gantry", "worker", "--no-sandbox", "--metrics", "9464"]
