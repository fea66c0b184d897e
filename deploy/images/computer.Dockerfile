# gantry-computer: what the driver docker makes hosted computers from. Built from the root of the repository; docs/deploy.md says how.
# BASE: a Debian or Ubuntu with Node 24, npm and glibc.
ARG BASE=node:24-bookworm-slim

# The same lines begin all Dockerfiles, so that an engine builds them once. Everything comes from the lock file; no script of a package runs.
FROM ${BASE} AS build
WORKDIR /src
COPY package.json package-lock.json .npmrc ./
RUN npm ci --include=dev --include=optional --ignore-scripts --no-progress
COPY . .
RUN npm run build \
 && rm -rf node_modules/better-sqlite3/deps node_modules/better-sqlite3/src \
 && find node_modules/better-sqlite3/prebuilds -mindepth 1 -maxdepth 1 ! -name 'linux*' -exec rm -rf {} +

FROM ${BASE}
# PROGRAMS: `bubblewrap nftables util-linux` are what a computer of the toolset shell needs; the rest is the screen and the browser.
ARG PROGRAMS="bubblewrap nftables util-linux procps ca-certificates xvfb openbox chromium fonts-dejavu-core"
RUN apt-get update \
 && DEBIAN_FRONTEND=noninteractive apt-get install -y --no-install-recommends ${PROGRAMS} \
 && rm -rf /var/lib/apt/lists/* \
 && echo 'user:x:61000:61000:user:/home/user:/bin/sh' >> /etc/passwd \
 && echo 'user:x:61000:' >> /etc/group \
 && mkdir -p /home/user /var/lib/gantry \
 && chown 61000:61000 /home/user /var/lib/gantry \
 && chmod 0700 /home/user /var/lib/gantry
WORKDIR /app
COPY --from=build /src/package.json /src/out/THIRD-PARTY-NOTICES.txt /src/out/gantry.cdx.json ./
COPY --from=build /src/deploy/images/computer-init.sh deploy/images/
COPY --from=build /src/node_modules/better-sqlite3 node_modules/better-sqlite3
COPY --from=build /src/node_modules/playwright-core node_modules/playwright-core
COPY --from=build /src/out/server/computer-init.js /src/out/server/computer-link.js /src/out/server/hosted-device.js /src/out/server/executor.js /src/out/server/schema-checker.js out/server/
COPY --from=build /src/out/server/chunks out/server/chunks
# The driver takes no image without it: what runs inside must restrict itself before anything else.
LABEL gantry.computer-image=1
ENV NODE_ENV=production LANG=C.UTF-8
# Begins as root with five capabilities, and drops all of them: the computer's programs run as the user 61000.
CMD ["/bin/bash", "/app/deploy/images/computer-init.sh"]
