/**
 * Makes a clone ready: `start` installs and builds, `test` installs. Runs before npm start and npm test, so it has no dependencies, and
 * Node 18 can parse it. Everything it says goes to stderr. When all is up to date it does nothing, in a few milliseconds.
 */
import { spawn } from 'node:child_process';
import { createHash, randomBytes } from 'node:crypto';
import { linkSync, mkdirSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { buildIsFresh, buildStamp, findNode, noNode, root } from './node-runtime.mjs';

const installStamp = join(root, 'node_modules', '.gantry-installed');
const lockFile = join(root, 'out', '.bootstrap-lock');
const goal = process.argv[2];
/** Whether stderr stands in the middle of the progress line. */
let lineOpen = false;

process.exitCode = await main();

async function main() {
  const [major, minor] = process.versions.node.split('.').map(Number);
  if (major < 20 || (major === 20 && minor < 19)) {
    say(
      `Gantry needs Node 20.19 or newer; this is Node ${process.versions.node}. Install Node 24 from https://nodejs.org`,
    );
    return 70;
  }
  if (goal !== 'start' && goal !== 'test') {
    say('Give start or test: what to make ready for.');
    return 64;
  }
  if (isReady()) return 0;
  const lock = await takeLock();
  try {
    // Somebody else may have done it while we waited.
    if (!isInstalled()) {
      const code = await install(lock);
      if (code !== 0) return code;
    }
    if (findNode() === null) {
      say(noNode);
      return 70;
    }
    return goal === 'start' && !buildIsFresh() ? await build(lock) : 0;
  } finally {
    lock.release();
    endLine();
  }
}

function isReady() {
  return isInstalled() && findNode() !== null && (goal !== 'start' || buildIsFresh());
}

/** What decides which files lie in node_modules. */
function wanted() {
  const hash = createHash('sha256');
  for (const name of ['package.json', 'package-lock.json']) hash.update(readFileSync(join(root, name))).update('\0');
  return hash.update(`${process.platform} ${process.arch}`).digest('hex');
}

function isInstalled() {
  const hash = wanted();
  try {
    if (readFileSync(installStamp, 'utf8') === hash) return true;
  } catch {
    // No stamp: nothing is installed, or somebody called npm directly.
  }
  if (!npmDidIt()) return false;
  writeFileSync(installStamp, hash);
  return true;
}

/** Whether npm itself has put every package of the lock file there: it writes its own list last, when all else has worked. */
function npmDidIt() {
  let there;
  try {
    there = JSON.parse(readFileSync(join(root, 'node_modules', '.package-lock.json'), 'utf8')).packages;
  } catch {
    return false;
  }
  const { packages } = JSON.parse(readFileSync(join(root, 'package-lock.json'), 'utf8'));
  return Object.entries(packages).every(([path, { version, optional }]) => {
    if (path === '') return true;
    // Packages for other platforms are in the lock file and not on this disk.
    return there[path] === undefined ? optional === true : there[path].version === version;
  });
}

async function install(lock) {
  progress('installing (the first time a minute or so)');
  const started = Date.now();
  const npm = process.env.npm_execpath;
  // Development dependencies are what Gantry is built with, whatever NODE_ENV says.
  const options = [
    'ci',
    '--include=dev',
    '--include=optional',
    // Both native modules carry prebuilt binaries; from a lock file npm would compile one of them all the same.
    '--ignore-scripts',
    '--loglevel=error',
    '--no-fund',
    '--no-audit',
    '--no-progress',
  ];
  const ours = npm !== undefined && /npm-cli\.[cm]?js$/.test(npm);
  const command = ours ? process.execPath : process.platform === 'win32' ? 'npm.cmd' : 'npm';
  const result = await lock.run(command, ours ? [npm, ...options] : options, {
    env: cleanEnvironment(process.env),
    // What it added is not news; its errors are.
    stdio: ['ignore', 'ignore', 2],
    shell: !ours && process.platform === 'win32',
  });
  if (result.status !== 0) {
    const why = result.error ?? `npm ci ended with ${result.status}`;
    say(`The dependencies could not be installed: ${why}. Check the network and run the same command again.`);
    return 70;
  }
  writeFileSync(installStamp, wanted());
  progress(null, started);
  return 0;
}

/** npm hands its own flags down as variables (`omit`, `ignore-scripts` …); of them only where to fetch from is kept. */
function cleanEnvironment(env) {
  const kept =
    /^npm_config_(cache|registry|ca|cafile|cert|key|strict_ssl|proxy|https_proxy|noproxy|http_proxy|userconfig|globalconfig|offline|prefer_offline|prefer_online|fetch_.*|maxsockets|@.*|\/\/.*)$/i;
  return Object.fromEntries(Object.entries(env).filter(([name]) => !/^npm_/i.test(name) || kept.test(name)));
}

async function build(lock) {
  progress('building');
  const started = Date.now();
  mkdirSync(dirname(buildStamp), { recursive: true });
  rmSync(buildStamp, { force: true });
  // Whatever is changed while the build runs is newer than this stamp, so the next start builds again.
  const stamp = `${buildStamp}.${process.pid}`;
  writeFileSync(stamp, '');
  const vite = join(root, 'node_modules', 'vite', 'bin', 'vite.js');
  // CI keeps the tool from drawing its progress over ours.
  const env = { ...process.env, NODE_ENV: 'production', CI: '1' };
  const result = await lock.run(findNode(), [vite, 'build', '--app', '--logLevel', 'warn'], { env });
  if (result.status !== 0) {
    rmSync(stamp, { force: true });
    say(`The build failed (${result.error ?? result.status}).`);
    return 70;
  }
  renameSync(stamp, buildStamp);
  progress(null, started);
  return 0;
}

/** One bootstrap at a time in one clone: resolves with what may then be done. The lock names who holds it, and its child. */
async function takeLock() {
  mkdirSync(dirname(lockFile), { recursive: true });
  let mine = `${process.pid} ${randomBytes(8).toString('hex')}`;
  let told = false;
  while (!place(mine, linkSync)) {
    const holder = readLock();
    if (holder !== null && !isHeld(holder)) {
      breakLock(holder);
      continue;
    }
    if (!told) say('Another start or test of this clone is installing or building; waiting for it …');
    told = true;
    await new Promise((resolve) => setTimeout(resolve, 150));
  }
  const release = () => {
    if (readLock() === mine) rmSync(lockFile, { force: true });
  };
  process.on('exit', release);
  return {
    release,
    /** Runs a program whose output goes to stderr. While it lives the lock holds, even if this process is killed. */
    run(command, args, options) {
      return new Promise((resolve) => {
        const child = spawn(command, args, { cwd: root, stdio: ['ignore', 2, 2], ...options });
        if (child.pid !== undefined) {
          mine = `${mine.split(' ', 2).join(' ')} ${child.pid}`;
          place(mine, renameSync);
        }
        const stop = (signal) => child.kill(signal);
        for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP']) process.on(signal, stop);
        child.on('error', (error) => resolve({ status: null, error: error.message }));
        child.on('exit', (status, signal) => {
          for (const one of ['SIGINT', 'SIGTERM', 'SIGHUP']) process.off(one, stop);
          resolve({ status: status ?? signal });
        });
      });
    },
  };
}

/** Puts the lock there whole: nobody may ever see one without its holder. False: there is one already. */
function place(content, how) {
  const whole = `${lockFile}.${content.split(' ', 2).join('-')}`;
  try {
    writeFileSync(whole, content);
    how(whole, lockFile);
    return true;
  } catch (error) {
    if (error.code !== 'EEXIST') throw error;
    return false;
  } finally {
    rmSync(whole, { force: true });
  }
}

function readLock() {
  try {
    return readFileSync(lockFile, 'utf8');
  } catch {
    return null;
  }
}

function isHeld(holder) {
  const [pid, , child] = holder.split(' ').map(Number);
  return isAlive(pid) || isAlive(child);
}

/** Takes a dead holder's lock away; if it was another's fresh one that we caught, it is put back. */
function breakLock(holder) {
  const aside = `${lockFile}.${process.pid}`;
  try {
    renameSync(lockFile, aside);
    if (readFileSync(aside, 'utf8') !== holder) linkSync(aside, lockFile);
  } catch {
    // Somebody was faster.
  }
  rmSync(aside, { force: true });
}

function isAlive(pid) {
  if (!Number.isInteger(pid)) return false;
  try {
    process.kill(pid, 0);
    return true;
  } catch (error) {
    return error.code === 'EPERM';
  }
}

/** One line that grows: `Getting Gantry ready: installing … 41.0 s, building … 2.3 s`. Null ends the step that began at `started`. */
function progress(step, started) {
  if (step === null) process.stderr.write(` ${((Date.now() - started) / 1000).toFixed(1)} s`);
  else process.stderr.write(`${lineOpen ? ',' : 'Getting Gantry ready:'} ${step} …`);
  lineOpen = true;
}

function endLine() {
  if (lineOpen) process.stderr.write('\n');
  lineOpen = false;
}

function say(text) {
  endLine();
  process.stderr.write(`${text}\n`);
}
