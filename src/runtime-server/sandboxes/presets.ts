/** Destinations that a team file allows by one word. Data, and where each is looked up. Pure. */
import { type HostAndPort, hostAndPortOf } from '../../kit/egress/host-name.ts';

export type Preset = 'agent' | 'packages' | 'remote';

/** Of package managers, over TLS; those of Debian and Ubuntu also without, because their packages are signed. */
const packageHosts: readonly string[] = [
  ...['registry.npmjs.org', 'registry.yarnpkg.com'],
  ...['pypi.org', 'files.pythonhosted.org'],
  ...['index.crates.io', 'static.crates.io', 'crates.io'],
  ...['proxy.golang.org', 'sum.golang.org'],
  ...['rubygems.org', 'index.rubygems.org'],
  ...['repo.maven.apache.org', 'repo1.maven.org'],
  ...['deb.debian.org', 'security.debian.org', 'archive.ubuntu.com', 'security.ubuntu.com'].flatMap((host) => [
    host,
    `${host}:80`,
  ]),
];

const words: Readonly<Record<Preset, string>> = {
  agent: 'its agent program’s own API',
  packages: 'a package registry',
  remote: 'the repository’s remote',
};

export interface PresetWishes {
  readonly presets: readonly Preset[];
  /** `host` or `host:port` of its agent program's API. */
  readonly apis: readonly string[];
  /** The same of the repository's remotes. */
  readonly remotes: readonly string[];
}

/** Which preset allows it, in words; null: none. */
export function presetOf({ presets, apis, remotes }: PresetWishes, to: HostAndPort): string | null {
  const hosts: Readonly<Record<Preset, readonly string[]>> = { agent: apis, packages: packageHosts, remote: remotes };
  const found = presets.find((preset) =>
    hosts[preset].some((text) => {
      const one = hostAndPortOf(text, 443);
      return one?.host === to.host && one.port === to.port;
    }),
  );
  return found === undefined ? null : words[found];
}
