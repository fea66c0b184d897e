/**
 * The program `gantry`. A hook of a harness runs once for every tool call of a bot, so it goes its own short way, without the parser.
 * Must not know any part.
 */
const argv = process.argv.slice(2);
if (argv[0] === 'hook') {
  const { main } = await import('./hook.ts');
  process.exitCode = await main(argv.slice(1));
} else {
  const [{ runCli }, { packageVersion }] = await Promise.all([import('./program.ts'), import('../host/places.ts')]);
  // A reader that left (`| head`) is no fault of ours.
  process.stdout.on('error', (error: NodeJS.ErrnoException) => {
    // A Gantry that was started again in the background outlives the terminal that it began in.
    if (error.code === 'EIO' && process.env.GANTRY_STOOD !== undefined) return;
    process.exit(error.code === 'EPIPE' ? 0 : 70);
  });
  // What nobody can read any more ends nothing.
  process.stderr.on('error', () => {});
  process.exitCode = await runCli({
    argv,
    version: packageVersion(),
    env: process.env,
    cwd: process.cwd(),
    terminal: process,
    now: Date.now,
  });
}
