/**
 * Where the programs of a cluster come from: the folder that GANTRY_CLUSTER_FOLDER names, the path, or a build of Debian's source package `kubernetes`.
 * Owns the recipe of that build; knows nothing of how the programs are run.
 */
import { execFileSync, spawnSync } from 'node:child_process';
import { existsSync, mkdirSync, readdirSync, readFileSync, renameSync, writeFileSync } from 'node:fs';
import { delimiter, join } from 'node:path';

/** Debian has no package of these: they are built where they are not found. */
const built = ['kube-apiserver', 'kube-controller-manager', 'kube-scheduler', 'kubelet', 'kube-proxy'] as const;
/** Debian's etcd-server, containerd, runc, kubernetes-client, dnsmasq-base, iptables, iproute2, openssl, util-linux. */
const installed = [
  ...['etcd', 'containerd', 'containerd-shim-runc-v2', 'ctr', 'runc', 'kubectl', 'dnsmasq'],
  ...['iptables', 'ip', 'openssl', 'nsenter'],
] as const;
export type ProgramName = (typeof built)[number] | (typeof installed)[number];
/** A path for each. */
export type Programs = Readonly<Record<ProgramName, string>> & {
  /** Debian's containernetworking-plugins. */
  readonly plugins: string;
};

/** Debian's golang-1.19-go. */
const goFolder = '/usr/lib/go-1.19/bin';
const version = 'v1.20.2';

export function findPrograms(folder: string): Programs {
  const bin = join(folder, 'bin');
  const names = [...built, ...installed];
  const found = names.map((name) => [name, find(name, bin)] as const);
  const lacks = found.flatMap(([name, path]) => (path === null ? [name] : []));
  if (lacks.length > 0) throw new Error(`there is no ${lacks.join(', no ')}`);
  return { ...(Object.fromEntries(found) as Record<ProgramName, string>), plugins: pluginsFolder() };
}

/** Why there can be no cluster; null: there can, at the latest after `buildPrograms`. */
export function noCluster(folder: string): string | null {
  if (process.platform !== 'linux' || process.getuid?.() !== 0) return 'it needs Linux and root';
  const bin = join(folder, 'bin');
  const lacks: string[] = installed.filter((name) => find(name, bin) === null);
  if (!existsSync(join(pluginsFolder(), 'ptp'))) lacks.push('folder of network plugins');
  if (lacks.length > 0) return `there is no ${lacks.join(', no ')}`;
  const without = built.filter((name) => find(name, bin) === null);
  const tools = ['apt-get', 'dpkg-source'].filter((name) => find(name, bin) === null);
  if (!existsSync(join(goFolder, 'go'))) tools.push('Go 1.19');
  if (without.length === 0 || tools.length === 0) return null;
  return `there is no ${without.join(', no ')}, and they cannot be built: there is no ${tools.join(', no ')}`;
}

/** Builds those that are nowhere into `bin` of the folder: about twelve minutes of a processor, once. */
export function buildPrograms(folder: string): void {
  const bin = join(folder, 'bin');
  const wanted = built.filter((name) => find(name, bin) === null);
  if (wanted.length === 0) return;
  mkdirSync(bin, { recursive: true });
  console.log(`     ${wanted.join(', ')}: built from Debian's source package, which takes a while`);
  const gopath = join(folder, 'gopath');
  const tree = join(gopath, 'src/k8s.io/kubernetes');
  if (!existsSync(tree)) extractSource(folder, tree);
  const env = {
    ...process.env,
    PATH: `${goFolder}:${process.env.PATH}`,
    // Modules of this age no longer resolve.
    ...{ GOPATH: gopath, GO111MODULE: 'off', GOFLAGS: '', GOCACHE: join(folder, 'gocache'), CGO_ENABLED: '0' },
  };
  const go = (...words: readonly string[]) =>
    execFileSync('go', words, { cwd: tree, env, stdio: ['ignore', 'ignore', 'inherit'] });
  const definitions = join(tree, 'pkg/generated/openapi/zz_generated.openapi.go');
  if (wanted.includes('kube-apiserver') && !existsSync(definitions)) {
    go('build', '-o', join(bin, 'openapi-gen'), './vendor/k8s.io/kube-openapi/cmd/openapi-gen');
    const words = [
      '-O',
      'zz_generated.openapi',
      '-i',
      describedPackages(tree),
      '-p',
      'k8s.io/kubernetes/pkg/generated/openapi',
    ];
    words.push('-h', 'hack/boilerplate/boilerplate.generatego.txt', '-r', join(folder, 'violations.txt'));
    execFileSync(join(bin, 'openapi-gen'), words, { cwd: tree, env, stdio: ['ignore', 'ignore', 'inherit'] });
  }
  const about = { gitVersion: version, gitMajor: '1', gitMinor: '20' };
  // The API server tells its version by the second, everything else by the first.
  const places = ['component-base/version', 'client-go/pkg/version'].map(
    (path) => `k8s.io/kubernetes/vendor/k8s.io/${path}`,
  );
  const named = places.flatMap((place) => Object.entries(about).map(([name, value]) => `-X ${place}.${name}=${value}`));
  for (const name of wanted) {
    go('build', '-ldflags', `${named.join(' ')} -s -w`, '-o', join(bin, `${name}.new`), `./cmd/${name}`);
    renameSync(join(bin, `${name}.new`), join(bin, name));
  }
}

/** From where this machine gets its packages, by lists of sources in a folder of its own: the machine's stay as they are. */
function extractSource(folder: string, tree: string): void {
  const parts = join(folder, 'sources');
  const lists = join(folder, 'lists');
  for (const made of [parts, join(lists, 'partial')]) mkdirSync(made, { recursive: true });
  const machine = '/etc/apt';
  const named = existsSync(join(machine, 'sources.list.d')) ? readdirSync(join(machine, 'sources.list.d')) : [];
  const files = ['sources.list', ...named.map((name) => `sources.list.d/${name}`)];
  const known = new Set<string>();
  for (const [number, name] of files.entries()) {
    const file = join(machine, name);
    if (!existsSync(file)) continue;
    const text = readFileSync(file, 'utf8');
    const stanzas = name.endsWith('.sources')
      ? text.split(/\n{2,}/).map((stanza) => stanza.replace(/^Types:.*$/m, 'Types: deb-src'))
      : text.split('\n').map((line) => line.replace(/^deb /, 'deb-src '));
    const ofDebian = stanzas.filter((stanza) => /^(Types:|deb-src )/m.test(stanza) && /debian/.test(stanza));
    // Where the machine has a list of sources already, apt would warn of each for every file.
    const fresh = ofDebian.filter((stanza) => !known.has(stanza.trim()));
    for (const stanza of fresh) known.add(stanza.trim());
    const ending = name.endsWith('.sources') ? ['sources', '\n\n'] : ['list', '\n'];
    if (fresh.length > 0) writeFileSync(join(parts, `${number}.${ending[0]}`), fresh.join(ending[1]!));
  }
  const options = [`Dir::Etc::sourcelist=/dev/null`, `Dir::Etc::sourceparts=${parts}`, `Dir::State::lists=${lists}`];
  const words = options.flatMap((option) => ['-o', option]);
  const run = (program: string, ...given: readonly string[]) =>
    execFileSync(program, given, { cwd: folder, stdio: ['ignore', 'ignore', 'inherit'] });
  run('apt-get', ...words, 'update');
  run('apt-get', ...words, 'source', '--download-only', 'kubernetes');
  const description = readdirSync(folder).find((name) => /^kubernetes_.*\.dsc$/.test(name));
  if (description === undefined) throw new Error(`apt-get has put no source package into ${folder}`);
  mkdirSync(join(tree, '..'), { recursive: true });
  run('dpkg-source', '--no-check', '--extract', description, tree);
}

/** Whose types the API server describes: those that say so. */
function describedPackages(tree: string): string {
  const { stdout } = spawnSync('grep', ['-rl', '--include=*.go', '-e', '^// +k8s:openapi-gen=', 'staging/src', 'pkg'], {
    cwd: tree,
    encoding: 'utf8',
    maxBuffer: 64 << 20,
  });
  const left = /_test\.go$|vendor\/|\/testdata\/|_examples|code-generator/;
  const folders = stdout
    .split('\n')
    .filter((file) => file !== '' && !left.test(file))
    .map((file) => file.slice(0, file.lastIndexOf('/')))
    .map((path) =>
      path.replace(/^staging\/src\//, 'k8s.io/kubernetes/vendor/').replace(/^pkg/, 'k8s.io/kubernetes/pkg'),
    );
  return [...new Set(folders)].toSorted().join(',');
}

function find(name: string, bin: string): string | null {
  const folders = [bin, ...(process.env.PATH ?? '').split(delimiter), '/usr/sbin', '/sbin'];
  return folders.map((folder) => join(folder, name)).find((path) => existsSync(path)) ?? null;
}

function pluginsFolder(): string {
  return ['/usr/lib/cni', '/opt/cni/bin'].find((folder) => existsSync(join(folder, 'ptp'))) ?? '/usr/lib/cni';
}
